internal import CFFmpeg

/// The streams of a film in playlists, as they were counted when it was opened first.
///
/// One who reads again from a later piece opens its playlist alone, so that a jump asks servers for no more than it needs. Streams are
/// counted otherwise there; packets bear their numbers in the film all the same.
struct FilmStreams: Sendable {
    struct Stream: Sendable {
        var number: Int32
        /// libavformat's number of its playlist, and its place among the streams of that.
        var playlist: Int32
        var place: Int
        var type: AVMediaType
        var base: AVRational
        /// How long one of its packets is where it does not say so, which is found out when a film is opened first; 0 when not known.
        var length: Int64
    }

    private(set) var all: [Stream] = []
    /// What is read; nil is all.
    private(set) var playlist: Int32?
    /// For each stream of the input what it is in the film; empty where that is the same.
    private var numbers: [Int32] = []
    /// In what the input's stamps count, where the film's count in something else.
    private var bases: [AVRational?] = []

    init() {}

    var isKnown: Bool { !all.isEmpty }
    /// The input is not the one that was opened first.
    private(set) var isOpenedAnew = false

    /// Takes note of the streams of a film that was just opened.
    mutating func note(_ streams: UnsafeMutableBufferPointer<UnsafeMutablePointer<AVStream>>) {
        all = streams.map { stream in
            let playlist = stream.pointee.id
            let place = streams.prefix { $0.pointee.index != stream.pointee.index }.count { $0.pointee.id == playlist }
            return Stream(
                number: stream.pointee.index, playlist: playlist, place: place,
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

    /// Only the playlist of this stream is to be opened.
    mutating func choose(_ number: Int32) { playlist = all.first { $0.number == number }?.playlist }

    func choosing(_ number: Int32) -> FilmStreams {
        var copy = self
        copy.choose(number)
        return copy
    }

    /// The input is given up for another.
    mutating func reopen() { (isOpenedAnew, numbers, bases) = (true, [], []) }

    /// Finds in an input that was opened anew which stream is which; false where one that is wanted is not in it.
    mutating func match(_ streams: UnsafeMutableBufferPointer<UnsafeMutablePointer<AVStream>>, isAlone: Bool) -> Bool {
        var found: Set<Int32> = []
        for stream in streams {
            let playlist = isAlone ? self.playlist ?? stream.pointee.id : stream.pointee.id
            let place = streams.prefix { $0.pointee.index != stream.pointee.index }.count {
                $0.pointee.id == stream.pointee.id
            }
            let own = all.first { $0.playlist == playlist && $0.place == place }
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

    func number(of index: Int32) -> Int32 {
        guard index >= 0, Int(index) < numbers.count else { return index }
        return numbers[Int(index)]
    }

    /// Gives a packet its number and stamps in the film.
    func number(_ packet: UnsafeMutablePointer<AVPacket>) {
        let index = Int(packet.pointee.stream_index)
        guard numbers.indices.contains(index) else { return }
        packet.pointee.stream_index = numbers[index]
        guard let own = all.first(where: { $0.number == numbers[index] }) else { return }
        if let base = bases[index] { av_packet_rescale_ts(packet, base, own.base) }
        if packet.pointee.duration <= 0 { packet.pointee.duration = own.length }
    }
}
