package import AirPlayTransport
internal import Sockets

/// How the stream of a classic receiver is set up.
package struct ClassicMethod: Hashable, Sendable {
    /// Whether audio is encrypted by a key for the first AirPort Express.
    var isEncrypted = false
    /// Whether `/auth-setup` precedes the stream.
    var needsSetup = false
    /// Whether digests of the password have upper-case digits.
    var hasUpperCaseDigest = false
}

/// Whether and how a speaker is used by classic AirPlay, and why. A pure function of the speaker's traits.
package struct ClassicDecision: Hashable, Sendable {
    /// Nil: it cannot be used.
    package let method: ClassicMethod?
    /// The reason, to be printed after the route's name.
    package let reason: String

    private init(_ method: ClassicMethod?, _ reason: String) { (self.method, self.reason) = (method, reason) }

    /// Returns the decision for a discovered speaker; the first rule that applies decides.
    package static func decide(for speaker: DiscoveredSpeaker) -> ClassicDecision {
        guard !speaker.raopEndpoints.isEmpty else { return refusal("it does not announce classic AirPlay (_raop)") }
        let traits = speaker.traits
        if isSilent(traits) {
            return refusal("HomePods from system 26.6 on accept classic AirPlay and stay silent")
        }
        let classic = traits.classic
        if classic?.hasUDP == false { return refusal("its classic AirPlay does not use UDP") }
        if let codecs = classic?.codecs, !codecs.contains(1) { return refusal("it does not decode Apple Lossless") }
        if traits.needsPIN { return refusal("its classic AirPlay requires a PIN") }
        return method(of: traits)
    }

    private static func refusal(_ reason: String) -> ClassicDecision { ClassicDecision(nil, reason) }

    private static func method(of traits: SpeakerTraits) -> ClassicDecision {
        var method = ClassicMethod()
        method.hasUpperCaseDigest = traits.classic?.needsKey ?? false
        // Receivers that announce no encryption at all are older than its announcement, or were named by an address.
        guard let encryptions = traits.classic?.encryptions else {
            return ClassicDecision(method, "it announces no encryption")
        }
        method.needsSetup = encryptions.contains(4)
        // An encrypted stream breaks receivers that offer both.
        if encryptions.contains(0), traits.classic?.needsKey != true {
            return ClassicDecision(method, "it accepts audio without encryption")
        }
        if encryptions.contains(1) {
            method.isEncrypted = true
            return ClassicDecision(method, "it requires encryption by RSA and AES")
        }
        // Those that demand a certificate exchange play clear audio after it.
        if encryptions.contains(4) { return ClassicDecision(method, "it requires /auth-setup") }
        return refusal("its classic AirPlay requires FairPlay, which only Apple's senders have")
    }

    /// The first system whose classic sessions succeed without sound, as others measured.
    private static func isSilent(_ traits: SpeakerTraits) -> Bool {
        guard traits.isHomePod else { return false }
        if let system = traits.systemVersion.flatMap({ DottedVersion($0) }) {
            return !(system < DottedVersion("26.6")!)
        }
        return traits.sourceVersion.flatMap { DottedVersion($0) }.map { $0.major >= 980 } ?? false
    }
}

extension SpeakerSource {
    /// Returns the current addresses of a speaker for classic AirPlay; nil if it is not announced, or if several
    /// speakers claim the identifier. Never blocks.
    func classicAddresses(of id: SpeakerID) -> [SpeakerAddress]? {
        let found = snapshot.speakers.filter { $0.id == id }
        guard let speaker = found.first, found.count == 1 else { return nil }
        let addresses = speaker.raopEndpoints.map { SpeakerAddress($0) }
        return addresses.isEmpty ? nil : addresses
    }
}
