public import MediaCore
public import SyncRendering

/// Decodes pictures, and makes of them what a screen can show: two fields become two pictures, HDR (PQ, HLG) becomes BT.709,
/// and what one can see through lies on tiles.
/// Owned and called by one thread, which does all of it, so that a screen's thread only shows.
///
/// Pictures of other films are handed on as they come, and so are those in HDR where the screen maps their tones itself.
public final class FilmPictureDecoder: PictureDecoder {
    private let decoder: VideoDecoder
    private let deinterlacing: DeinterlacingSwitch
    private let toneMapping: ToneMappingSwitch
    private let drawing: PictureDrawing
    private let report: DecoderReport
    /// Nil until a picture has two fields.
    private var fields: Deinterlacer?
    /// Nil until a picture is HDR.
    private var tones: ToneMapper?
    /// Nil until one can see through a picture.
    private var glass: TransparentPicture?
    /// Pictures that came out together with others.
    private var ready: [SampleBuffer] = []
    /// No more are to come: what is inside comes out.
    private var isFinishing = false
    /// What is over by then is not shown.
    private var showFrom: MediaTime?

    /// - Parameters:
    ///   - threads: how many threads to decode with; nil chooses by picture size and machine.
    ///   - deinterlacing: asked before each picture.
    ///   - toneMapping: asked before each picture in HDR.
    ///   - hardware: whether a graphics processor decodes; what it cannot, this processor does.
    ///   - drawing: how the tones of HDR films are mapped here.
    ///   - report: told with each picture who decoded it.
    /// - Throws: `unsupported` when no decoder fits or the track's description is damaged, or `limitExceeded`.
    public init(
        format: VideoFormat, threads: Int? = nil, deinterlacing: DeinterlacingSwitch = DeinterlacingSwitch(),
        toneMapping: ToneMappingSwitch = ToneMappingSwitch(), hardware: HardwareDecoding = .no,
        drawing: PictureDrawing = PictureDrawing(), report: DecoderReport = DecoderReport()
    ) throws(MediaError) {
        decoder = try VideoDecoder(format: format, threads: threads, hardware: hardware)
        self.deinterlacing = deinterlacing
        self.toneMapping = toneMapping
        self.drawing = drawing
        self.report = report
    }

    public var effort: DecodingEffort {
        get { decoder.effort }
        set { decoder.effort = newValue }
    }

    public var damagedPackets: Int { decoder.damagedPackets }

    /// Whether a filter for fields was ever made, for tests.
    var hasDeinterlaced: Bool { fields != nil }

    public func send(_ buffer: SampleBuffer) throws(MediaError) {
        isFinishing = false
        try decoder.send(buffer)
    }

    public func finish() {
        isFinishing = true
        decoder.finish()
    }

    public func flush() {
        ready.removeAll(keepingCapacity: true)
        (isFinishing, showFrom) = (false, nil)
        fields?.flush()
        decoder.flush()
    }

    public func discardPictures(before time: MediaTime) {
        showFrom = time
        decoder.discardPictures(before: time)
    }

    public func goOn(to time: MediaTime) -> Bool {
        // What a filter for fields holds may be the very picture, or a neighbour that it must not mix in.
        if let fields, fields.isInUse { return false }
        showFrom = time
        return decoder.goOn(to: time)
    }

    public func receive() -> SampleBuffer? {
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
            if let decoder = decoder.atWork { report.note(decoder) }
            guard let picture = buffer.picture as? DecodedPicture, takes(picture) else {
                // One at a time: what is inside comes before it.
                guard let fields, fields.isInUse else { return shown(buffer) }
                fields.finish(decoder.format, to: &ready)
                ready.append(buffer)
                continue
            }
            let fields = self.fields ?? Deinterlacer()
            self.fields = fields
            if buffer.flags.contains(.discontinuity) { fields.finish(decoder.format, to: &ready) }
            let isTaken = fields.push(
                buffer, picture, takesAll: deinterlacing.mode == .yes, of: decoder.format, to: &ready)
            if !isTaken { ready.append(buffer) }
        }
    }

    /// Whether a picture goes through the filter: one with two fields, and what comes among such.
    private func takes(_ picture: DecodedPicture) -> Bool {
        switch deinterlacing.mode {
        case .no: false
        case .yes: true
        case .auto: picture.isInterlaced || fields?.isInUse == true
        }
    }

    /// The first half of the picture in which a jump ends may lie before that place; its second half follows.
    private func isOver(_ buffer: SampleBuffer) -> Bool {
        guard let showFrom else { return false }
        if !ready.isEmpty, let end = buffer.end, end <= showFrom { return true }
        self.showFrom = nil
        return false
    }

    /// The same moment as a screen can show it.
    private func shown(_ buffer: SampleBuffer) -> SampleBuffer {
        guard let picture = buffer.picture as? DecodedPicture else { return buffer }
        if TransparentPicture.isTransparent(picture, of: decoder.format) {
            let glass = self.glass ?? TransparentPicture()
            self.glass = glass
            var shown = buffer
            if let flat = glass.flatten(picture, of: decoder.format) { shown.payload = .picture(flat) }
            return shown
        }
        guard picture.color.isHighDynamicRange, !toneMapping.isDoneByScreen else { return buffer }
        let tones = self.tones ?? ToneMapper(drawing)
        self.tones = tones
        guard let mapped = tones.map(picture, of: decoder.format) else { return buffer }
        var shown = buffer
        shown.payload = .picture(mapped)
        return shown
    }
}
