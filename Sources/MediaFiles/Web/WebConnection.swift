internal import CFFmpeg
internal import Glibc
internal import MediaCore

/// A way to a web server: bytes go and come.
protocol WebConnection: AnyObject {
    /// - Returns: 0, or an error of libavutil.
    func send(_ bytes: [UInt8]) -> Int32
    /// - Returns: how many came, or an error of libavutil; `cff_error_eof` when the server has closed.
    func receive(_ target: UnsafeMutableBufferPointer<UInt8>) -> Int32
    /// Sets how long `receive` waits before it fails with `ETIMEDOUT`; nil is for as long as the guard allows.
    func setMaxSilence(_ duration: Duration?)
}

extension WebConnection {
    func setMaxSilence(_ duration: Duration?) {}
}

/// A connection through libavformat's TCP and TLS, which the guard interrupts.
final class NetworkConnection: WebConnection {
    private var input: UnsafeMutablePointer<AVIOContext>?
    /// Kept for as long as libavformat may ask it.
    private let waiting: BlockingGuard
    private var maxSilence: Duration?
    /// Whether requests name the whole address, as a proxy wants it (RFC 9112, 3.2.2).
    let isProxied: Bool

    /// - Throws: an error of libavutil.
    init(_ address: WebAddress, _ trust: ServerTrust, _ waiting: BlockingGuard) throws(WebFailure) {
        self.waiting = waiting
        let proxy = address.isSecure ? nil : Self.proxy(for: address.host)
        isProxied = proxy != nil
        var settings: OpaquePointer?
        defer { av_dict_free(&settings) }
        // TLS goes through `http_proxy` by itself.
        av_dict_set(&settings, "protocol_whitelist", "tcp,tls,httpproxy", 0)
        if address.isSecure, trust.verifies {
            av_dict_set(&settings, "tls_verify", "1", 0)
            if let path = trust.path { av_dict_set(&settings, "ca_file", path, 0) }
        }
        let to = proxy ?? address
        var callback = waiting.callback
        let url = (address.isSecure ? "tls" : "tcp") + "://\(to.host):\(to.port)"
        let watch = TLSWatch()
        let code = avio_open2(&input, url, AVIO_FLAG_READ | AVIO_FLAG_WRITE, &callback, &settings)
        // A server that proves to be another is not asked again.
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

    /// `http_proxy` and `no_proxy`, as libavformat and curl know them.
    private static func proxy(for host: String) -> WebAddress? {
        guard let text = getenv("http_proxy").map({ String(cString: $0) }), !text.isEmpty else { return nil }
        let exceptions = getenv("no_proxy").map { String(cString: $0) } ?? ""
        for exception in exceptions.split(whereSeparator: { $0 == "," || $0 == " " }) {
            if exception == "*" || CookieJar.matches(host, CookieJar.domain(String(exception))) { return nil }
        }
        return WebAddress(text.contains("://") ? text : "http://" + text)
    }
}

/// An error of libavutil.
struct WebFailure: Error {
    var code: Int32
    /// A server led from `https` to `http`.
    var isDowngrade = false
}
