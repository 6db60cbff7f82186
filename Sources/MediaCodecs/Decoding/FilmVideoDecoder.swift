package import MediaCore
package import SyncRendering

/// Decodes video and converts it for display. Owned and called by one thread.
///
/// Interlaced frames become two frames, HDR (PQ, HLG) becomes BT.709, and transparent images are blended with tiles.
/// Other frames are returned unchanged, as are HDR frames if the screen maps tones itself.
package final class FilmVideoDecoder: VideoFrameDecoder {
    private let decoder: VideoDecoder
    private let deinterlacing: DeinterlacingSwitch
    private let toneMapping: ToneMappingSwitch
    private let drawing: VideoRenderingOptions
    private let report: DecoderReport
    /// Nil until the first interlaced frame.
    private var fields: Deinterlacer?
    /// Nil until the first HDR frame.
    private var tones: ToneMapper?
    /// Nil until the first transparent image.
    private var glass: TransparencyBlender?
    /// Frames not yet returned, in display order.
    private var ready: [SampleBuffer] = []
    /// Whether `finish` was called: the filters are drained.
    private var isFinishing = false
    /// Target of an exact seek: frames that end before it are dropped.
    private var showFrom: MediaTime?

    /// Opens a decoder.
    ///
    /// - Parameters:
    ///   - threads: The number of decoding threads; nil: depends on the frame size and the machine.
    ///   - deinterlacing: Read before each frame.
    ///   - toneMapping: Read before each HDR frame.
    ///   - hardware: Whether to decode in hardware; software decodes what the hardware does not support.
    ///   - drawing: The tone-mapping settings.
    ///   - report: Receives the decoder of each frame.
    /// - Throws: `unsupported` if there is no decoder or the track's parameters are invalid, or `exhausted`.
    package init(
        format: VideoFormat, threads: Int? = nil, deinterlacing: DeinterlacingSwitch = DeinterlacingSwitch(),
        toneMapping: ToneMappingSwitch = ToneMappingSwitch(), hardware: HardwareDecoding = .no,
        drawing: VideoRenderingOptions = VideoRenderingOptions(), report: DecoderReport = DecoderReport()
    ) throws(MediaError) {
        decoder = try VideoDecoder(format: format, threads: threads, hardware: hardware)
        self.deinterlacing = deinterlacing
        self.toneMapping = toneMapping
        self.drawing = drawing
        self.report = report
    }

    /// The skip policy of the decoder. May be changed between any two calls.
    package var skipPolicy: SkipPolicy {
        get { decoder.skipPolicy }
        set { decoder.skipPolicy = newValue }
    }

    /// Whether tones are mapped with less precision. May be changed between any two calls.
    package var prefersFastConversion = false

    /// The number of packets that could not be decoded.
    package var decodeErrorCount: Int { decoder.decodeErrorCount }

    /// The error of a failed hardware decoder without replacement.
    package var failure: MediaError? { decoder.failure }

    /// Whether the deinterlacer was ever created, for tests.
    var hasDeinterlaced: Bool { fields != nil }

    /// Decodes a buffer. A damaged packet is counted and skipped.
    ///
    /// - Throws: `unsupported` for a format that cannot be decoded, or the error of a failed hardware
    ///   decoder without replacement.
    package func send(_ buffer: SampleBuffer) throws(MediaError) {
        isFinishing = false
        try decoder.send(buffer)
    }

    /// Ends the input; `receive` returns the remaining frames.
    package func finish() {
        isFinishing = true
        decoder.finish()
    }

    /// Discards all frames inside, for a seek.
    package func flush() {
        ready.removeAll(keepingCapacity: true)
        (isFinishing, showFrom) = (false, nil)
        fields?.flush()
        decoder.flush()
    }

    /// Drops frames that end at or before `time`, after an exact seek.
    ///
    /// If the film ends before `time`, its last frame is returned.
    package func dropFrames(before time: MediaTime) {
        showFrom = time
        decoder.dropFrames(before: time)
    }

    /// Skips forward to `time` without a flush. Returns false and changes nothing while the deinterlacer holds frames.
    package func skipForward(to time: MediaTime) -> Bool {
        // The deinterlacer may hold the target frame, or a neighbour that must not be blended in.
        if let fields, fields.isInUse { return false }
        showFrom = time
        return decoder.skipForward(to: time)
    }

    /// Returns the next frame in display order, or nil if more input is needed.
    package func receive() -> SampleBuffer? {
        while true {
            if !ready.isEmpty {
                let next = ready.removeFirst()
                if isOver(next) { continue }
                return shown(next)
            }
            guard let buffer = decoder.receive() else {
                guard isFinishing, let fields, fields.isInUse else { return nil }
                fields.finish(decoder.format, to: &ready)
                if ready.isEmpty { return nil }
                continue
            }
            if let decoder = decoder.atWork { report.setDecoder(decoder) }
            guard let frame = buffer.videoFrame as? DecodedFrame, takes(frame) else {
                // Preserves the order: drains the deinterlacer first.
                guard let fields, fields.isInUse else { return shown(buffer) }
                fields.finish(decoder.format, to: &ready)
                ready.append(buffer)
                continue
            }
            let fields = self.fields ?? Deinterlacer()
            self.fields = fields
            if buffer.flags.contains(.discontinuity) { fields.finish(decoder.format, to: &ready) }
            let isTaken = fields.push(
                buffer, frame, takesAll: deinterlacing.mode == .yes, of: decoder.format, to: &ready)
            if !isTaken { ready.append(buffer) }
        }
    }

    /// Whether a frame is deinterlaced: interlaced frames and, in `auto`, progressive ones among them.
    private func takes(_ frame: DecodedFrame) -> Bool {
        switch deinterlacing.mode {
        case .no: false
        case .yes: true
        case .auto: frame.isInterlaced || fields?.isInUse == true
        }
    }

    /// Whether a frame ends before the target of the seek: the first field of the target frame can.
    private func isOver(_ buffer: SampleBuffer) -> Bool {
        guard let showFrom else { return false }
        if !ready.isEmpty, let end = buffer.end, end <= showFrom { return true }
        self.showFrom = nil
        return false
    }

    /// Returns the frame converted for display.
    private func shown(_ buffer: SampleBuffer) -> SampleBuffer {
        guard let frame = buffer.videoFrame as? DecodedFrame else { return buffer }
        if TransparencyBlender.isTransparent(frame, of: decoder.format) {
            let glass = self.glass ?? TransparencyBlender()
            self.glass = glass
            var shown = buffer
            if let flat = glass.flatten(frame, of: decoder.format) { shown.payload = .videoFrame(flat) }
            return shown
        }
        guard frame.color.isHighDynamicRange, !toneMapping.isDoneByScreen else { return buffer }
        let tones = self.tones ?? ToneMapper(drawing)
        self.tones = tones
        guard let mapped = tones.map(frame, of: decoder.format, isCoarse: prefersFastConversion) else {
            return buffer
        }
        var shown = buffer
        shown.payload = .videoFrame(mapped)
        return shown
    }
}
