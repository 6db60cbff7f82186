package import AirPlayWire
internal import MediaCore
internal import PTP
package import Sockets

/// Parsing of user-provided options. Errors are `badOption`.
extension SpeakerConfiguration {
    /// Parses an address of this computer, such as `127.0.0.2` or `fe80::2%eth0`.
    package static func address(parsing text: String) throws(SpeakerError) -> NetworkAddress {
        guard let address = NetworkAddress(text), address.isUnicast,
            !address.isLinkLocal || address.isIPv4 || address.scope != 0
        else {
            throw SpeakerError(.badOption, "an address must be like 127.0.0.2, fd00::2 or fe80::2%eth0")
        }
        return address
    }

    /// Parses an output: `none`, a file name that ends in `.wav`, or an ALSA device.
    package static func output(parsing text: String) throws(SpeakerError) -> Output {
        if text.isEmpty { throw SpeakerError(.badOption, "an output must be an ALSA device, FILE.wav or none") }
        if text == "none" { return .none }
        return text.hasSuffix(".wav") ? .file(path: text) : .card(device: text)
    }

    /// Returns the admission policy: a password (transient pairing), a PIN of four digits (stored pairing), or open.
    package static func admission(
        password: String?, pin: String?
    ) throws(SpeakerError) -> PairSetupResponder.Admission {
        switch (password, pin) {
        case (nil, nil): return .open
        case (let password?, nil):
            if password.isEmpty { throw SpeakerError(.badOption, "a password must have at least one character") }
            return .password(password)
        case (nil, let pin?):
            guard pin.utf8.count == 4, pin.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
                throw SpeakerError(.badOption, "a PIN must have four digits")
            }
            return .pin(pin)
        default: throw SpeakerError(.badOption, "a speaker can have a password or a PIN, not both")
        }
    }
}

extension SpeakerConfiguration.ClockPolicy {
    /// Parses `auto`, `ptp` or `ntp`.
    package init(parsing text: String) throws(SpeakerError) {
        switch text {
        case "auto": self = .ifPermitted
        case "ptp": self = .required
        case "ntp": self = .never
        default: throw SpeakerError(.badOption, "the timing must be auto, ptp or ntp")
        }
    }
}
