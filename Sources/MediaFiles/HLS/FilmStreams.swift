internal import CFFmpeg

/// The streams of an HLS film, numbered as when it was first opened.
///
/// A reader that seeks reopens only its own playlist, which limits the requests. Streams are numbered differently
/// there; packets are mapped to their numbers in the film.
struct FilmStreams: Sendable {
    struct Stream: Sendable {
        var number: Int32
        /// The playlist's number in libavformat, and the stream's index among those of the playlist.
        var playlist: Int32
        var indexInPlaylist: Int
        var type: AVMediaType
        var base: AVRational
        /// The packet duration in ticks, for packets without one; determined at the first opening, 0 if unknown.
        var length: Int64
    }

    private(set) var all: [Stream] = []
    /// The number of the playlist to read; nil: all.
    private(set) var playlist: Int32?
    /// The film's stream number for each stream of the input; empty if they are the same.
    private var numbers: [Int32] = []
    /// The time bases of the input's streams; nil if equal to the film's.
    private var bases: [AVRational?] = []

    init() {}

    var isKnown: Bool { !all.isEmpty }
    /// Whether the input was reopened.
    private(set) var isReopened = false

    /// Stores the streams of a newly opened film.
    mutating func store(_ streams: UnsafeMutableBufferPointer<UnsafeMutablePointer<AVStream>>) {
        all = streams.map { stream in
            let playlist = stream.pointee.id
            let index = streams.prefix { $0.pointee.index != stream.pointee.index }.count { $0.pointee.id == playlist }
            return Stream(
                number: stream.pointee.index, playlist: playlist, indexInPlaylist: index,
                type: stream.pointee.codecpar.pointee.codec_type, base: stream.pointee.time_base,
                length: Self.length(of: stream))
        }
    }

    private static func length(of stream: UnsafeMutablePointer<AVStream>) -> Int64 {
        let (parameters, rate) = (stream.pointee.codecpar.pointee, stream.pointee.avg_frame_rate)
        if parameters.codec_type == AVMEDIA_TYPE_AUDIO, parameters.frame_size > 0, parameters.sample_rate > 0 {
            let unit = AVRational(num: 1, den: parameters.sample_rate)
            return av_rescale_q(Int64(parameters.frame_size), unit, stream.pointee.time_base)
        }
        guard parameters.codec_type == AVMEDIA_TYPE_VIDEO, rate.num > 0, rate.den > 0 else { return 0 }
        return av_rescale_q(1, AVRational(num: rate.den, den: rate.num), stream.pointee.time_base)
    }

    /// Limits reopening to the playlist of a stream.
    mutating func choose(_ number: Int32) { playlist = all.first { $0.number == number }?.playlist }

    func choosing(_ number: Int32) -> FilmStreams {
        var copy = self
        copy.choose(number)
        return copy
    }

    /// Prepares for the streams of a reopened input.
    mutating func reopen() { (isReopened, numbers, bases) = (true, [], []) }

    /// Maps the streams of a reopened input to those of the film; false if a wanted one is missing.
    mutating func match(_ streams: UnsafeMutableBufferPointer<UnsafeMutablePointer<AVStream>>, isAlone: Bool) -> Bool {
        var found: Set<Int32> = []
        for stream in streams {
            let playlist = isAlone ? self.playlist ?? stream.pointee.id : stream.pointee.id
            let index = streams.prefix { $0.pointee.index != stream.pointee.index }.count {
                $0.pointee.id == stream.pointee.id
            }
            let own = all.first { $0.playlist == playlist && $0.indexInPlaylist == index }
            guard let own, own.type == stream.pointee.codecpar.pointee.codec_type else {
                numbers.append(-1)
                bases.append(nil)
                continue
            }
            found.insert(own.number)
            let base = stream.pointee.time_base
            numbers.append(own.number)
            bases.append(av_cmp_q(base, own.base) == 0 ? nil : base)
        }
        return all.allSatisfy { stream in
            found.contains(stream.number) || (playlist.map { $0 != stream.playlist } ?? false)
        }
    }

    /// Returns a stream's number in the film; −1 for a stream that the film does not have.
    func number(of index: Int32) -> Int32 {
        guard index >= 0, Int(index) < numbers.count else { return index }
        return numbers[Int(index)]
    }

    /// Converts a packet's stream index, timestamps and duration to those of the film.
    func number(_ packet: UnsafeMutablePointer<AVPacket>) {
        let index = Int(packet.pointee.stream_index)
        guard numbers.indices.contains(index) else { return }
        packet.pointee.stream_index = numbers[index]
        guard let own = all.first(where: { $0.number == numbers[index] }) else { return }
        if let base = bases[index] { av_packet_rescale_ts(packet, base, own.base) }
        if packet.pointee.duration <= 0 { packet.pointee.duration = own.length }
    }
}
