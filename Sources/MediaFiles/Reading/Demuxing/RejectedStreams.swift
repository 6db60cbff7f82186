internal import CFFmpeg
internal import MediaCore

/// The video streams of an input that are not read: damaged covers, and frames larger than the limit.
struct RejectedStreams {
    typealias Streams = UnsafeMutableBufferPointer<UnsafeMutablePointer<AVStream>>

    private var problems: [Int32: FormatReading.Problem] = [:]

    /// Returns the reason why a stream is not read; nil for other streams.
    func problem(of stream: Int32) -> FormatReading.Problem? { problems[stream] }

    /// Reads the image headers of attached pictures, so that their size is known without decoding them.
    mutating func inspectCovers(of streams: Streams) {
        for stream in streams where stream.pointee.disposition & AV_DISPOSITION_ATTACHED_PIC != 0 {
            let attachment = stream.pointee.attached_pic
            guard attachment.size > 0, let data = attachment.data else { continue }
            let bytes = UnsafeRawBufferPointer(start: data, count: Int(attachment.size))
            guard let header = ImageHeader(bytes), let parameters = stream.pointee.codecpar else {
                reject(stream, FormatReading.Problem(code: .notMedia, text: "is a damaged or unsupported picture"))
                continue
            }
            let (width, height) = (Int32(clamping: header.size.width), Int32(clamping: header.size.height))
            if FormatReading.isSensible(width: width, height: height) {
                (parameters.pointee.width, parameters.pointee.height) = (width, height)
                if let descriptor = avcodec_descriptor_get_by_name(header.codec) {
                    parameters.pointee.codec_id = descriptor.pointee.id
                }
                // Only marks the parameters as complete, so that libavformat does not probe.
                parameters.pointee.format = AV_PIX_FMT_YUVJ420P.rawValue
            } else {
                reject(stream, FormatReading.oversized(width: width, height: height))
            }
        }
    }

    /// Records the frame sizes of the header that are too large: libavformat discards them when it probes the streams.
    mutating func inspectSizes(of streams: Streams) {
        for stream in streams {
            let parameters = stream.pointee.codecpar.pointee
            if parameters.codec_type == AVMEDIA_TYPE_VIDEO,
                !FormatReading.isSensible(width: parameters.width, height: parameters.height)
            {
                reject(stream, FormatReading.oversized(width: parameters.width, height: parameters.height))
            }
        }
    }

    private mutating func reject(_ stream: UnsafeMutablePointer<AVStream>, _ problem: FormatReading.Problem) {
        // A damaged cover stays one, whatever size the container states for it.
        if problems[stream.pointee.index]?.code != .notMedia { problems[stream.pointee.index] = problem }
        stream.pointee.discard = AVDISCARD_ALL
    }
}
