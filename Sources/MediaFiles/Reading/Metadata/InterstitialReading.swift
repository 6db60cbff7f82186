internal import CFFmpeg
package import MediaCore

/// Reads the interstitials of a playlist (RFC 8216bis, D.2), in film time.
enum InterstitialReading {
    private static let kind = "com.apple.hls.interstitial"

    /// Returns the interstitials in order of film time. Those before the film have time 0; those after it are last.
    ///
    /// - Parameter location: The base of relative URLs. Only `http` and `https` URLs are accepted.
    static func interstitials(of playlist: MediaPlaylist, at location: String) -> [Interstitial] {
        var (order, all) = ([String](), [String: [String: String]]())
        for line in playlist.dateRanges {
            let tag = AttributeList(line)
            guard let id = tag["ID"], id.utf8.count <= 256 else { continue }
            if all[id] == nil {
                guard order.count < Interstitial.maxCount * 4 else { continue }
                order.append(id)
            }
            // Later tags with the same ID add attributes (RFC 8216, 4.3.2.7).
            all[id, default: [:]].merge(tag.values) { first, _ in first }
        }
        let made = order.compactMap { id in
            all[id].flatMap { interstitial(id, $0, of: playlist, WebAddress(location)) }
        }
        func rank(_ one: (offset: Int, element: Interstitial)) -> (Int, MediaTime, Int) {
            switch one.element.position {
            case .before: (0, .zero, one.offset)
            case .at(let time): (0, time, one.offset)
            case .after: (1, .zero, one.offset)
            }
        }
        return Array(
            made.enumerated().sorted { rank($0) < rank($1) }.map(\.element).prefix(
                Interstitial.maxCount))
    }

    private static func interstitial(
        _ id: String, _ values: [String: String], of playlist: MediaPlaylist, _ base: WebAddress?
    ) -> Interstitial? {
        guard values["CLASS"] == kind else { return nil }
        let one = values["X-ASSET-URI"].flatMap { address($0, base) }
        let list = values["X-ASSET-LIST"].flatMap { address($0, base) }
        guard let assets = one.map(Interstitial.Assets.one) ?? list.map(Interstitial.Assets.list) else { return nil }
        let cues = tokens(values["CUE"])
        let position: Interstitial.Position
        if cues.contains("PRE") {
            position = .before
        } else if cues.contains("POST") {
            position = .after
        } else {
            guard let date = values["START-DATE"].flatMap(CalendarDate.seconds),
                let time = playlist.mediaTime(of: date),
                time >= .zero
            else { return nil }
            position = .at(time)
        }
        var made = Interstitial(id: id, position: position, assets: assets)
        made.isOnce = cues.contains("ONCE")
        made.resumeOffset = length(values["X-RESUME-OFFSET"])
        if let limit = length(values["X-PLAYOUT-LIMIT"]) { made.limit = min(limit, Interstitial.longest) }
        let restrictions = tokens(values["X-RESTRICT"])
        (made.forbidsSkipping, made.forbidsJumping) = (restrictions.contains("SKIP"), restrictions.contains("JUMP"))
        return made
    }

    private static func tokens(_ text: String?) -> [Substring] { (text ?? "").prefix(64).split(separator: ",") }

    /// Returns a duration; nil if it is invalid or longer than a day.
    private static func length(_ text: String?) -> MediaTime? {
        guard let text, let seconds = DecimalNumber.parse(String(text.prefix(32))), (0...86_400).contains(seconds)
        else { return nil }
        return MediaTime(boundedSeconds: seconds)
    }

    private static func address(_ text: String, _ base: WebAddress?) -> String? {
        guard let base else { return WebAddress(text)?.text }
        guard let address = base.resolving(text), address.isSecure || !base.isSecure else { return nil }
        return address.text
    }
}

/// The assets of an interstitial: the response to its `X-ASSET-LIST` URL (RFC 8216bis, D.2).
package enum AssetList {
    static let maxBytes = 256 << 10
    private static let timeout = Duration.seconds(5)

    /// Requests a list and returns the URLs of its assets; blocks. Secrets are sent only to the film's server.
    ///
    /// - Throws: `cannotOpen` if the request fails, `notMedia` if the response is not a list.
    package static func read(
        _ address: String, of film: String, options: ReadOptions, cancellation: Cancellation
    ) throws(MediaError) -> [String] {
        let options = self.options(options, for: address, of: film)
        let name = "\"\(PrintableText.withoutCredentials(address))\""
        guard let webAddress = WebAddress(address) else {
            throw MediaError(.notMedia, "\(name) is not an address of a web server")
        }
        let waiting = InterruptCallback([cancellation])
        waiting.allow(timeout)
        var (bytes, piece) = ([UInt8](), [UInt8](repeating: 0, count: 16 << 10))
        let requestBuilder = HTTPRequestBuilder(address, options)
        // A refused certificate fails this list only, not the next input that this thread opens.
        var certificates = TLSFailureRecorder()
        var location = webAddress
        defer { _ = certificates.refusal() }
        do throws(WebFailure) {
            let input = try HTTPStream(webAddress, requestBuilder: requestBuilder, waiting: waiting) {
                (address) throws(WebFailure) in
                try requestBuilder.connect(address, waiting)
            }
            location = input.address
            while bytes.count <= maxBytes {
                let got = piece.withUnsafeMutableBufferPointer { input.read(into: $0) }
                if got == cff_error_eof { break }
                if got < 0 { throw WebFailure(code: got) }
                bytes += piece.prefix(Int(got))
            }
        } catch {
            throw MediaError(.cannotOpen, "the list of interstitials \(name) cannot be loaded")
        }
        guard bytes.count <= maxBytes, let assets = assets(in: bytes, at: location) else {
            throw MediaError(.notMedia, "\(name) is not a list of interstitials")
        }
        return assets
    }

    /// Returns the URLs in a list; nil if it is malformed.
    static func assets(in bytes: [UInt8], at webAddress: WebAddress) -> [String]? {
        bytes.withUnsafeBytes { raw in
            guard let root = JSONNode(object: raw, maxElements: maxBytes / 4),
                let all = root.objects("ASSETS", maxCount: Interstitial.maxAssets)
            else { return nil }
            return all.compactMap { asset in
                guard let text = asset.text("URI"), let address = webAddress.resolving(text),
                    address.isSecure || !webAddress.isSecure
                else { return nil }
                return address.text
            }
        }
    }

    /// Returns the options for an interstitial's server: secrets are removed unless it is the film's server.
    package static func options(_ options: ReadOptions, for address: String, of film: String) -> ReadOptions {
        var own = options
        let isHome = WebAddress(address).flatMap { webAddress in WebAddress(film)?.isHome(of: webAddress) } ?? false
        if !isHome { own.headerFields = options.headerFields.filter { !$0.isSecret } }
        return own
    }
}
