internal import CFFmpeg
internal import Glibc
internal import MediaCore

/// Converts libavformat's error codes into messages.
enum ReadingErrors {
    /// Returns the error for `address`, which could not be opened.
    ///
    /// - Parameter isPlaylist: Whether it is a playlist or a manifest, of which no segment could be opened.
    static func opening(
        _ code: Int32, _ address: InputAddress, _ waiting: InterruptCallback, isPlaylist: Bool = false
    ) -> MediaError {
        let name = "\"\(address.text)\""
        let unresolved = TLSFailureRecorder.consumeUnresolvedHost()
        if code == cff_error_exit || waiting.isCancelled || waiting.isPastDeadline { return stopped(name, waiting) }
        switch code {
        case cff_error_from_errno(EIO) where unresolved != nil:
            return MediaError(
                .cannotOpen,
                "cannot open \(name): the name of the server '\(PrintableText.of(unresolved!))' cannot be resolved; check the "
                    + "address and the network")
        case cff_error_from_errno(EMFILE), cff_error_from_errno(ENFILE):
            return MediaError(.exhausted, "cannot open \(name): \(text(code))")
        case cff_error_from_errno(ENOENT):
            return MediaError(.cannotOpen, "there is no \(name); check the name")
        case cff_error_from_errno(EACCES), cff_error_from_errno(EPERM), cff_error_http_forbidden,
            cff_error_http_unauthorized:
            return MediaError(.notPermitted, "no permission to read \(name); check its permissions")
        case cff_error_http_not_found:
            return MediaError(.cannotOpen, "the server has no \(name) (404); check the address")
        case cff_error_http_bad_request, cff_error_http_other_4xx:
            return MediaError(.cannotOpen, "the server refuses to send \(name); check the address")
        case cff_error_http_server:
            return MediaError(.cannotOpen, "the server of \(name) has an internal error; try again later")
        // Refused containers (`Demuxers`) are reported as EINVAL.
        case cff_error_invalid_data, cff_error_eof, cff_error_from_errno(EINVAL):
            if isPlaylist {
                return MediaError(
                    .unsupported,
                    "none of the segments of \(name) can be played; check whether another player opens it")
            }
            if address.kind == .file,
                [".m3u", ".m3u8", ".pls", ".xspf"].contains(where: address.text.lowercased().hasSuffix)
            {
                return MediaError(.notMedia, "\(name) is a playlist and no film; open its entries")
            }
            if isCutOff(address) {
                return MediaError(
                    .notMedia, "\(name) is truncated before its index, which is at the end; copy or download it again")
            }
            return MediaError(
                .notMedia,
                "\(name) is not a supported film or recording, or it is damaged; check whether another player opens it"
            )
        case cff_error_protocol_not_found, cff_error_demuxer_not_found:
            return MediaError(.unsupported, "no demuxer can read \(name); it may need a newer FFmpeg")
        case cff_error_from_errno(ENOMEM):
            return MediaError(.limitExceeded, "cannot open \(name): \(text(code)), or it is damaged")
        case cff_error_from_errno(ECONNREFUSED):
            return MediaError(
                .cannotOpen, "the server of \(name) refuses the connection; check that it runs and the port")
        case cff_error_from_errno(ETIMEDOUT):
            return MediaError(.timedOut, "\(name) does not answer; check the network and try again")
        default:
            return MediaError(.cannotOpen, "cannot open \(name): \(text(code)); check the address")
        }
    }

    /// Returns the error for a FIFO or a device that a playlist or another program names.
    static func irregular(_ address: InputAddress) -> MediaError {
        MediaError(
            .notPermitted,
            "\"\(address.text)\" is not a regular file; specify it on the command line to play it")
    }

    /// Returns the error for a server that answers 401.
    ///
    /// - Parameters:
    ///   - methods: The methods of authentication that it offers.
    ///   - wasAnswered: Whether name and password were sent.
    static func unauthorized(
        _ address: WebAddress, _ methods: String, hasCredentials: Bool, wasAnswered: Bool
    ) -> MediaError {
        let server = "the server \(PrintableText.of(address.host))"
        guard hasCredentials else {
            return MediaError(
                .notPermitted,
                "\(server) requests a name and a password (401); enter the address as http(s)://NAME:PASSWORD@…")
        }
        if wasAnswered {
            return MediaError(.notPermitted, "\(server) refuses the name or the password (401); check both")
        }
        return MediaError(
            .notPermitted,
            methods.isEmpty
                ? "\(server) refuses access without a request for a password (401), which was not sent; check the address"
                : "\(server) requests a kind of authentication that is not supported (401: \(methods)); the password was "
                    + "not sent; use another address")
    }

    /// Returns the error for an input or redirect that is not trusted; nil if that was not the reason.
    static func untrusted(
        _ address: InputAddress, refusal: cff_refusal, tls: TLSFailureRecorder.Refusal?, trust: ServerTrust
    ) -> MediaError? {
        let name = "\"\(address.text)\""
        switch refusal {
        case cff_refused_downgrade:
            return MediaError(
                .untrusted,
                "the server of \(name) redirects to an address without https; use that address, or another server")
        case cff_refused_count:
            return MediaError(.limitExceeded, "\(name) has too many redirects; it probably refers to itself")
        default: break
        }
        switch tls {
        case .name?:
            return MediaError(
                .untrusted, "the server of \(name) has a certificate for another server name; check the address")
        case .certificate? where trust.path == nil && !ServerTrust.isSystemEquipped:
            return MediaError(
                .untrusted,
                "no certificate authorities are installed; install ca-certificates")
        case .certificate?:
            return MediaError(
                .untrusted,
                "the server of \(name) has no trusted certificate: its authority is unknown to this computer, or it is expired "
                    + "or not yet valid; check the address and the computer's date, or add its authority")
        case nil: return nil
        }
    }

    /// Returns the error for a failed read of `address`.
    static func reading(_ code: Int32, _ address: InputAddress, _ waiting: InterruptCallback) -> MediaError {
        let name = "\"\(address.text)\""
        if code == cff_error_exit || waiting.isCancelled || waiting.isPastDeadline { return stopped(name, waiting) }
        if isExhaustion(code) { return MediaError(.exhausted, "reading \(name) failed: \(text(code))") }
        // Parsers return a bare -1, which is EPERM, for invalid data.
        if code == cff_error_invalid_data || code == cff_error_from_errno(EPERM) {
            return MediaError(.readFailed, "\(name) is damaged; copy or download it again")
        }
        return MediaError(.readFailed, "reading \(name) failed: \(text(code)); check the disk or the network")
    }

    /// Returns the error for a segment that could not be read. The message omits credentials and the query, which may
    /// be a token.
    static func segment(_ code: Int32, at address: String) -> MediaError {
        let plain = WebAddress(address).map { $0.origin + $0.target } ?? address
        let name = "\"\(PrintableText.of(String(plain.prefix { $0 != "?" })))\""
        let cause =
            switch code {
            case cff_error_http_not_found: "the server has no \(name) (404)"
            case cff_error_http_bad_request, cff_error_http_forbidden, cff_error_http_unauthorized,
                cff_error_http_other_4xx:
                "the server refuses to send \(name)"
            case cff_error_http_server: "the server has an internal error with \(name)"
            case cff_error_from_errno(ECONNRESET): "\(name) ends prematurely"
            case cff_error_from_errno(ENOENT): "there is no \(name)"
            default: "reading \(name) failed: \(text(code))"
            }
        return MediaError(.lostSegment, "\(cause); try again later")
    }

    /// Returns the error for data that end before the length stated in the header.
    ///
    /// - Parameter isTruncated: Whether the file became shorter while it was open.
    static func incomplete(_ address: InputAddress, isTruncated: Bool) -> MediaError {
        MediaError(
            isTruncated ? .truncated : .incomplete,
            "\"\(address.text)\" is incomplete; copy or download it again")
    }

    /// Returns the error for an MP4 whose `moov` box follows its `mdat` (ISO 14496-12, 8.1.1) in an input without
    /// random access.
    static func indexIsLast(_ address: InputAddress) -> MediaError {
        let (what, remedy) =
            address.kind == .network
            ? ("its server does not support ranges", "download it first")
            : ("a pipe is not seekable", "play the file itself")
        return MediaError(
            .unsupported,
            "\"\(address.text)\" is an MP4 with its index at the end, and \(what); \(remedy), or move the index to the front "
                + "('ffmpeg -i FILE -c copy -movflags +faststart NEW.mp4')")
    }

    /// Whether the file starts as an MP4 (its `ftyp` box, ISO 14496-12, 4.3): if it cannot be opened, its end is
    /// missing.
    private static func isCutOff(_ address: InputAddress) -> Bool {
        // ignored: the error of opening the file is reported without this detail.
        guard address.kind == .file, let start = try? FileBytes.readRegular(address.path, maxBytes: 16) else {
            return false
        }
        return start.count == 16 && start[4..<8].elementsEqual("ftyp".utf8)
    }

    private static func stopped(_ name: String, _ waiting: InterruptCallback) -> MediaError {
        waiting.isCancelled
            ? MediaError(.cancelled, "reading \(name) was cancelled; open it again to continue")
            : MediaError(.timedOut, "\(name) sends no data; check the network and try again")
    }

    private static func isExhaustion(_ code: Int32) -> Bool {
        [EMFILE, ENFILE, ENOMEM].contains { code == cff_error_from_errno($0) }
    }

    /// Returns libavutil's text for an error code in lower case, for use in a sentence; our own text for exhausted
    /// resources.
    static func text(_ code: Int32) -> String {
        if isExhaustion(code) { return SystemCause.text(code) }
        return withUnsafeTemporaryAllocation(of: CChar.self, capacity: 128) { buffer in
            av_strerror(code, buffer.baseAddress, 128)
            return String(cString: buffer.baseAddress!).lowercased()
        }
    }
}
