internal import CFFmpeg
internal import Glibc
internal import MediaCore

/// Opens HTTP resources for one demuxer: the film, playlists, segments and keys.
///
/// `@unchecked Sendable`: used only on the thread that uses the demuxer.
final class AVIOBridge: @unchecked Sendable {
    private let requestBuilder: HTTPRequestBuilder
    private let waiting: InterruptCallback
    private let pool = ConnectionPool()
    private var open: [UnsafeMutablePointer<AVIOContext>: WebSource] = [:]
    /// Whether a server redirected from `https` to `http`, or a playlist of an `https` film refers to `http`. Playlists
    /// on `https` servers that other playlists lead to are checked in `cff_check_playlist`.
    private(set) var isDowngraded = false
    /// The playlists of the film.
    let playlists: FilmPlaylists
    /// The time from which segments are wanted, relative to the first of each playlist; nil: all.
    var wanted: MediaTime?
    /// The trimmed playlists opened since `begin(at:)`.
    private(set) var cuts: [MediaPlaylist.Cut] = []
    /// The time at which the opened playlists end because another init section follows; nil: at the film's end.
    private(set) var initSectionEnd: MediaTime?
    /// Whether the demuxer is seeking.
    var isJumping = false
    /// A more specific error than libavformat's, for content that cannot be played.
    private(set) var objection: MediaError?
    private var policy: UnsafeMutablePointer<cff_open_policy>?

    /// A segment of a playlist that could not be opened or read completely.
    struct LostSegment {
        var address: String
        /// The libavutil error.
        var code: Int32
        /// The URL of the playlist that contains the segment, and the duration stated there; nil if no known playlist
        /// does.
        var playlist: String?
        var duration: MediaTime?
        fileprivate var failedWhileOpening: Bool
    }
    private var lostSegments: [LostSegment] = []
    private static let maxLostSegments = 100

    init(_ requestBuilder: HTTPRequestBuilder, waiting: InterruptCallback) {
        (self.requestBuilder, self.waiting, playlists) = (requestBuilder, waiting, requestBuilder.playlists)
    }

    deinit { requestBuilder.segments.close(ObjectIdentifier(self)) }

    /// Prepares for reopening the playlists from the segment at a time.
    func begin(at time: MediaTime?) { (wanted, cuts, initSectionEnd) = (time, [], nil) }

    /// Ends reopening: playlists that are opened later are complete.
    func endReopening() { (wanted, cuts) = (nil, []) }

    /// Replaces libavformat's HTTP client. The caller keeps this object alive as long as the policy: the pointer is
    /// unretained.
    func install(in policy: UnsafeMutablePointer<cff_open_policy>) {
        self.policy = policy
        policy.pointee.owner = Unmanaged.passUnretained(self).toOpaque()
        policy.pointee.failed = { owner, url, code in
            guard let owner, let url else { return }
            Unmanaged<AVIOBridge>.fromOpaque(owner).takeUnretainedValue().recordFailure(of: String(cString: url), code)
        }
        policy.pointee.web = { owner, url, isOpening, options, input in
            guard let owner, let url, let input else { return cff_error_exit }
            let gate = Unmanaged<AVIOBridge>.fromOpaque(owner).takeUnretainedValue()
            do throws(WebFailure) {
                input.pointee = try gate.begin(String(cString: url), isOpening: isOpening != 0, options)
                return 0
            } catch { return error.code }
        }
        policy.pointee.close_web = { owner, input in
            guard let owner, let input else { return 0 }
            return Unmanaged<AVIOBridge>.fromOpaque(owner).takeUnretainedValue().close(input) ? 1 : 0
        }
        policy.pointee.leads_to = { owner, url in
            guard let owner, let url else { return }
            Unmanaged<AVIOBridge>.fromOpaque(owner).takeUnretainedValue().playlists.leads(to: String(cString: url))
        }
        policy.pointee.revise = { owner, url, location, text, count, other in
            guard let owner, let url, let text, let other else { return 0 }
            let gate = Unmanaged<AVIOBridge>.fromOpaque(owner).takeUnretainedValue()
            let address = String(cString: url)
            let bytes = Array(UnsafeBufferPointer(start: text, count: Int(count)))
            guard let cut = gate.cut(bytes, address, from: location.map { String(cString: $0) } ?? address),
                let buffer = av_malloc(cut.count)
            else { return 0 }
            buffer.copyMemory(from: cut, byteCount: cut.count)
            other.pointee = buffer.assumingMemoryBound(to: UInt8.self)
            return Int32(clamping: cut.count)
        }
    }

    /// Returns the replacement of a playlist; nil keeps the original.
    private func cut(_ text: [UInt8], _ address: String, from location: String) -> [UInt8]? {
        let known = playlists.parse(text, at: address, from: location) { [waiting] in waiting.isCancelled }
        guard let known, known.playlist.isEnded, wanted != nil || known.playlist.changesMap else { return nil }
        let cut = known.playlist.cut(at: wanted ?? .zero)
        cuts.append(cut)
        if let end = cut.end { initSectionEnd = max(initSectionEnd ?? end, end) }
        return cut.text
    }

    private func begin(
        _ url: String, isOpening: Bool, _ options: OpaquePointer?
    ) throws(WebFailure) -> UnsafeMutablePointer<AVIOContext> {
        let text = Self.withoutCipher(url)
        let isEncrypted = text != url
        if let bytes = playlists.text(ofDASHAt: text) {
            return try context(WebSource(bytes), text, DASHPlaylists.type)
        }
        if isOpening, let known = playlists.known(at: text) {
            return try context(WebSource(known.playlist.text), known.location, DASHPlaylists.type)
        }
        guard let address = WebAddress(text) else { throw WebFailure(code: cff_error_invalid_data) }
        if requestBuilder.home?.isSecure == true, !address.isSecure {
            isDowngraded = true
            throw WebFailure(code: cff_error_from_errno(EPERM), isDowngrade: true)
        }
        // `HTTPStream` rejects an out-of-range offset; libavformat writes 0 for "to the end".
        func number(_ key: String) -> Int64? { DemuxContext.value(of: key, in: options).map { Int64($0) ?? .max } }
        let (first, last) = (number("offset") ?? 0, number("end_offset").flatMap { $0 > 0 ? $0 : nil })
        // Only the film is cached: segments are read once, and live playlists are read again.
        let isFilm = isOpening && open.isEmpty && first == 0 && last == nil && !isEncrypted
        if isFilm, let cache = requestBuilder.cache(of: text) { return try context(cache) }
        let cipher = try isEncrypted ? cipher(from: options) : nil
        let fetched = requestBuilder.segments.open(
            address, (first, last), isOpening: isOpening, by: ObjectIdentifier(self), requestBuilder, pool: pool,
            waiting: waiting)
        if let fetched {
            let source = WebSource(fetched, cipher) { [unowned self] code in recordFailure(of: text, code) }
            return try context(source, text, nil)
        }
        let (requestBuilder, waiting) = (requestBuilder, InterruptCallback([]))
        waiting.forward(self.waiting)
        let input: HTTPStream
        do throws(WebFailure) {
            input = try HTTPStream(
                address, requestBuilder: requestBuilder, range: (first, last), retriesServerErrors: !isOpening,
                pool: isFilm ? nil : pool,
                waiting: waiting
            ) { (address) throws(WebFailure) in try requestBuilder.connect(address, waiting) }
        } catch {
            if error.isDowngrade { isDowngraded = true }
            if let (methods, wasAnswered) = error.unauthorized, isOpening, open.isEmpty {
                objection = ReadingErrors.unauthorized(
                    address, methods, hasCredentials: requestBuilder.credentials(for: address) != nil,
                    wasAnswered: wasAnswered)
            }
            throw error
        }
        if isOpening, open.isEmpty, playlists.dash == nil, Self.isManifest(input) {
            return try translate(input, at: text)
        }
        if isFilm, let cache = WebCache(input, requestBuilder, waiting: waiting) {
            requestBuilder.share(cache, of: text)
            return try context(cache)
        }
        // From here on the thread that reads ahead may use the response.
        let (location, type) = (input.address.text, input.contentType)
        let segment =
            isOpening
            ? nil
            : requestBuilder.segments.adopt(
                input, guardedBy: waiting, of: address, (first, last), by: ObjectIdentifier(self), requestBuilder,
                pool: pool,
                waiting: self.waiting)
        let source = WebSource(segment ?? input, cipher) { [unowned self] code in recordFailure(of: text, code) }
        return try context(source, location, type)
    }

    private func cipher(from options: OpaquePointer?) throws(WebFailure) -> BlockCipher {
        let cipher = BlockCipher(
            key: DemuxContext.value(of: "key", in: options), vector: DemuxContext.value(of: "iv", in: options))
        guard let cipher else { throw WebFailure(code: cff_error_invalid_data) }
        return cipher
    }

    private static func withoutCipher(_ url: String) -> String {
        var text = url
        for prefix in ["crypto+", "crypto:"] where text.hasPrefix(prefix) {
            text = String(text.dropFirst(prefix.count))
        }
        return text
    }

    // MARK: Lost segments

    /// Returns the segments that failed since the last call. A playlist demuxer skips them without an error.
    func consumeLostSegments() -> [LostSegment] {
        guard !lostSegments.isEmpty else { return [] }
        defer { lostSegments.removeAll() }
        var budget = WorkBudget(1 << 23) { [waiting] in waiting.isCancelled }
        return lostSegments.compactMap { lost in
            // ignored: without budget the segment counts as unknown.
            let segment = (try? playlists.segment(at: lost.address, &budget)) ?? nil
            // While a film is opened, playlists of unselected variants may be missing.
            guard segment != nil || !lost.failedWhileOpening else { return nil }
            var lost = lost
            (lost.playlist, lost.duration) = (segment?.playlist, segment?.duration)
            return lost
        }
    }

    private func recordFailure(of url: String, _ code: Int32) {
        guard code != 0 else { return lostSegments.removeAll { $0.address == Self.withoutCipher(url) } }
        guard code != cff_error_exit, lostSegments.count < Self.maxLostSegments else { return }
        lostSegments.append(
            LostSegment(
                address: Self.withoutCipher(url), code: code, failedWhileOpening: (policy?.pointee.left ?? -1) >= 0))
    }

    private func context(_ cache: WebCache) throws(WebFailure) -> UnsafeMutablePointer<AVIOContext> {
        let reader = cache.reader(waiting) { [unowned self] in isJumping }
        return try context(WebSource(reader), cache.identity.address.text, cache.identity.contentType)
    }

    /// Whether a response is a DASH manifest, by its type or extension (ISO 23009-1, annex C).
    private static func isManifest(_ input: HTTPStream) -> Bool {
        input.contentType?.lowercased().hasPrefix("application/dash+xml") ?? false
            || input.address.target.prefix { $0 != "?" }.lowercased().hasSuffix(".mpd")
    }

    /// Converts a DASH manifest to HLS playlists.
    private func translate(_ input: HTTPStream, at url: String) throws(WebFailure) -> UnsafeMutablePointer<AVIOContext>
    {
        var (bytes, piece) = ([UInt8](), [UInt8](repeating: 0, count: 64 << 10))
        while bytes.count <= DASHManifest.largest {
            let got = piece.withUnsafeMutableBufferPointer { input.read(into: $0) }
            if got == cff_error_eof { break }
            if got < 0 { throw WebFailure(code: got) }
            bytes += piece.prefix(Int(got))
        }
        let made: DASHPlaylists
        do throws(MediaError) {
            let name = "\"\(PrintableText.of(input.address.text))\""
            let manifest = try DASHManifest(bytes, at: input.address, named: name) { [waiting] in
                waiting.isCancelled || waiting.isPastDeadline
            }
            made = DASHPlaylists(manifest, requestBuilder.bitrate)
        } catch {
            guard error.code != .cancelled else { throw WebFailure(code: cff_error_exit) }
            objection = error
            throw WebFailure(code: cff_error_invalid_data)
        }
        playlists.store(made, at: url)
        return try context(WebSource(made.master), input.address.text, DASHPlaylists.type)
    }

    private func context(
        _ source: WebSource, _ location: String, _ type: String?
    ) throws(WebFailure) -> UnsafeMutablePointer<AVIOContext> {
        let context = cff_web_input(
            Unmanaged.passUnretained(source).toOpaque(), location, type,
            { @Sendable opaque, bytes, count in
                guard let opaque, let bytes, count > 0 else { return cff_error_exit }
                return AVIOBridge.source(opaque).read(into: UnsafeMutableBufferPointer(start: bytes, count: Int(count)))
            },
            { @Sendable opaque, offset, whence in
                guard let opaque else { return Int64(cff_error_exit) }
                return AVIOBridge.source(opaque).seek(offset, whence)
            })
        guard let context else { throw WebFailure(code: cff_error_from_errno(ENOMEM)) }
        context.pointee.seekable = source.isSeekable ? AVIO_SEEKABLE_NORMAL : 0
        open[context] = source
        return context
    }

    private static func source(_ opaque: UnsafeMutableRawPointer) -> WebSource {
        let registration = opaque.assumingMemoryBound(to: cff_web_place.self)
        return Unmanaged<WebSource>.fromOpaque(registration.pointee.owner).takeUnretainedValue()
    }

    private func close(_ input: UnsafeMutablePointer<AVIOContext>) -> Bool {
        guard open.removeValue(forKey: input) != nil else { return false }
        cff_web_free(input)
        return true
    }

    /// Closes all inputs and connections after the demuxer was closed.
    func closeAll() {
        for input in Array(open.keys) { _ = close(input) }
        pool.removeAll()
    }
}

/// The data source of an `AVIOContext`: bytes of a server, decrypted if a playlist requires it. Used by one thread.
private final class WebSource {
    private let input: (any WebBytes)?
    private var cipher: BlockCipher?
    private var text: ArraySlice<UInt8> = []
    /// Called with the error that ends reading.
    private let onFailure: (Int32) -> Void

    init(_ input: any WebBytes, _ cipher: BlockCipher? = nil, onFailure: @escaping (Int32) -> Void = { _ in }) {
        (self.input, self.cipher, self.onFailure) = (input, cipher, onFailure)
    }

    /// Creates a source of a generated playlist.
    init(_ bytes: [UInt8]) { (input, self.text, onFailure) = (nil, bytes[...], { _ in }) }

    var isSeekable: Bool { cipher == nil && input?.isSeekable ?? false }

    func read(into target: UnsafeMutableBufferPointer<UInt8>) -> Int32 {
        let code = receive(into: target)
        if code < 0, code != cff_error_eof { onFailure(code) }
        return code
    }

    private func receive(into target: UnsafeMutableBufferPointer<UInt8>) -> Int32 {
        guard let input else {
            let count = min(text.count, target.count)
            _ = target.update(fromContentsOf: text.prefix(count))
            text = text.dropFirst(count)
            return count > 0 ? Int32(clamping: count) : cff_error_eof
        }
        guard cipher != nil else { return input.read(into: target) }
        while true {
            let got = cipher?.readDecrypted(into: target) ?? 0
            if got > 0 { return Int32(got) }
            var bytes = [UInt8](repeating: 0, count: 16 << 10)
            let code = bytes.withUnsafeMutableBufferPointer { input.read(into: $0) }
            if code == cff_error_eof {
                cipher?.finish()
                let rest = cipher?.readDecrypted(into: target) ?? 0
                return rest > 0 ? Int32(rest) : cff_error_eof
            }
            if code < 0 { return code }
            cipher?.add(bytes[..<Int(code)])
        }
    }

    func seek(_ offset: Int64, _ whence: Int32) -> Int64 {
        guard cipher == nil, let input else { return Int64(cff_error_from_errno(ESPIPE)) }
        switch whence & ~AVSEEK_FORCE {
        case AVSEEK_SIZE: return input.length ?? Int64(cff_error_from_errno(ENOSYS))
        case SEEK_SET: return input.seek(to: offset)
        case SEEK_CUR: return input.seek(to: input.offset.addingReportingOverflow(offset).partialValue)
        case SEEK_END:
            guard let length = input.length else { return Int64(cff_error_from_errno(ESPIPE)) }
            return input.seek(to: length.addingReportingOverflow(offset).partialValue)
        default: return Int64(cff_error_from_errno(EINVAL))
        }
    }
}

/// AES-128 in CBC mode with PKCS7 padding, the encryption of whole HLS segments (RFC 8216, 4.3.2.4).
struct BlockCipher {
    private static let size = 16
    private let aes: Aes
    private var vector: [UInt8]
    private var coming: [UInt8] = []
    private var plain: ArraySlice<UInt8> = []

    private final class Aes {
        let context = av_aes_alloc()
        deinit { av_free(UnsafeMutableRawPointer(context)) }
    }

    /// Creates a decryptor; nil for an invalid key.
    ///
    /// - Parameters:
    ///   - key: 32 hexadecimal digits.
    ///   - vector: The initialization vector, 32 hexadecimal digits.
    init?(key: String?, vector: String?) {
        guard let key = key.flatMap(Hexadecimal.bytes), let vector = vector.flatMap(Hexadecimal.bytes),
            key.count == Self.size, vector.count == Self.size
        else { return nil }
        aes = Aes()
        self.vector = vector
        guard let context = aes.context, av_aes_init(context, key, 128, 1) == 0 else { return nil }
    }

    mutating func add(_ bytes: ArraySlice<UInt8>) {
        coming += bytes
        // The last block may contain padding.
        decipher((coming.count - 1) / Self.size)
    }

    /// Decrypts the last block and removes its padding. An incomplete block is dropped.
    mutating func finish() {
        guard coming.count >= Self.size else { return }
        decipher(coming.count / Self.size)
        coming.removeAll()
        if let padding = plain.last, (1...UInt8(Self.size)).contains(padding) { plain = plain.dropLast(Int(padding)) }
    }

    private mutating func decipher(_ blocks: Int) {
        guard blocks > 0 else { return }
        var out = [UInt8](repeating: 0, count: blocks * Self.size)
        av_aes_crypt(aes.context, &out, coming, Int32(blocks), &vector, 1)
        coming.removeFirst(out.count)
        plain += out
    }

    mutating func readDecrypted(into target: UnsafeMutableBufferPointer<UInt8>) -> Int {
        let count = min(plain.count, target.count)
        _ = target.update(fromContentsOf: plain.prefix(count))
        plain = plain.dropFirst(count)
        return count
    }
}
