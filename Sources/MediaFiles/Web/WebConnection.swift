internal import CFFmpeg
internal import Glibc
internal import MediaCore

/// A connection to a web server. One thread at a time.
protocol WebConnection: AnyObject {
    /// Sends bytes; blocks.
    ///
    /// - Returns: 0, or a libavutil error.
    func send(_ bytes: [UInt8]) -> Int32
    /// Receives bytes; blocks until there are some.
    ///
    /// - Returns: Their number, or a libavutil error; `cff_error_eof` if the server closed the connection.
    func receive(_ target: UnsafeMutableBufferPointer<UInt8>) -> Int32
    /// Sets the timeout of `receive`, after which it fails with `ETIMEDOUT`; nil: only the guard limits it.
    func setMaxSilence(_ duration: Duration?)
}

extension WebConnection {
    func setMaxSilence(_ duration: Duration?) {}
}

/// A connection through libavformat's TCP and TLS, which the guard interrupts. One thread at a time.
final class NetworkConnection: WebConnection {
    private var input: UnsafeMutablePointer<AVIOContext>?
    /// Retained while libavformat may call its callback.
    private let waiting: InterruptCallback
    private var maxSilence: Duration?
    /// Whether requests contain the absolute URL, as a proxy requires (RFC 9112, 3.2.2).
    let isProxied: Bool

    /// Connects to a server or its proxy; blocks.
    ///
    /// - Throws: A libavutil error; EPERM if the certificate was refused.
    init(_ address: WebAddress, _ trust: ServerTrust, _ waiting: InterruptCallback) throws(WebFailure) {
        self.waiting = waiting
        let proxy = address.isSecure ? nil : Self.proxy(for: address.host)
        isProxied = proxy != nil
        var settings: OpaquePointer?
        defer { av_dict_free(&settings) }
        // libavformat's TLS uses `http_proxy` on its own.
        av_dict_set(&settings, "protocol_whitelist", "tcp,tls,httpproxy", 0)
        if address.isSecure {
            // Its default is 0 in FFmpeg 5.1 and 7.1, and 1 in 9.
            av_dict_set(&settings, "tls_verify", trust.verifies ? "1" : "0", 0)
            if trust.verifies, let path = trust.path { av_dict_set(&settings, "ca_file", path, 0) }
        }
        let to = proxy ?? address
        var callback = waiting.callback
        let url = (address.isSecure ? "tls" : "tcp") + "://\(to.host):\(to.port)"
        let watch = TLSFailureRecorder()
        let code = avio_open2(&input, url, AVIO_FLAG_READ | AVIO_FLAG_WRITE, &callback, &settings)
        // A refused certificate is not retried.
        if code < 0 { throw WebFailure(code: watch.isRefused ? cff_error_from_errno(EPERM) : code) }
    }

    deinit { avio_closep(&input) }

    func send(_ bytes: [UInt8]) -> Int32 {
        guard let input else { return cff_error_eof }
        avio_write(input, bytes, Int32(bytes.count))
        avio_flush(input)
        return min(0, input.pointee.error)
    }

    func receive(_ target: UnsafeMutableBufferPointer<UInt8>) -> Int32 {
        guard let input else { return cff_error_eof }
        waiting.limitCall(to: maxSilence)
        defer { waiting.limitCall(to: nil) }
        let got = avio_read_partial(input, target.baseAddress, Int32(clamping: target.count))
        if got == cff_error_exit, !waiting.isCancelled, !waiting.isPastDeadline {
            return cff_error_from_errno(ETIMEDOUT)
        }
        return got == 0 ? cff_error_eof : got
    }

    func setMaxSilence(_ duration: Duration?) { maxSilence = duration }

    /// Returns the proxy of `http_proxy`, unless `no_proxy` lists the host; same as libavformat and curl.
    private static func proxy(for host: String) -> WebAddress? {
        guard let text = getenv("http_proxy").map({ String(cString: $0) }), !text.isEmpty else { return nil }
        let exceptions = getenv("no_proxy").map { String(cString: $0) } ?? ""
        for exception in exceptions.split(whereSeparator: { $0 == "," || $0 == " " }) {
            if exception == "*" || CookieJar.matches(host, CookieJar.domain(String(exception))) { return nil }
        }
        return WebAddress(text.contains("://") ? text : "http://" + text)
    }
}

/// A libavutil error.
struct WebFailure: Error {
    var code: Int32
    /// Whether a server redirected from `https` to `http`.
    var isDowngrade = false
    /// What the server of a 401 response offered, and whether the password was sent; nil for other errors.
    var unauthorized: (methods: String, wasAnswered: Bool)?
}
