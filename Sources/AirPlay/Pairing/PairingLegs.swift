internal import AirPlayWire
internal import MediaCore

/// Carries pairing messages over a request channel.
struct PairingLegs {
    let connection: RTSPConnection

    /// One round trip may take this long; receivers calculate for a second.
    private static let timeout: Duration = .seconds(5)

    /// Transient pairing: the secret every key of the session derives from. Nothing is stored.
    ///
    /// A refused attempt leaves most speakers unusable on this connection.
    func transient(password: String) throws(AirPlayError) -> SecretBytes {
        var setup = PairSetup(.transient)
        do {
            let challenge = try post("/pair-setup", setup.start(), kind: "4")
            let answer = try setup.respond(to: challenge, password: password)
            return try setup.finish(post("/pair-setup", answer, kind: "4"))
        } catch let error as WireError {
            throw Self.translated(error)
        } catch let error as AirPlayError {
            throw error
        } catch {
            throw AirPlayError(.protocolViolation, "\(error)")
        }
    }

    /// Pair-verify with stored keys.
    func verify(_ identity: PairingIdentity, _ accessory: PairedAccessory) throws(AirPlayError) -> SecretBytes {
        var verify = PairVerify(identity: identity, accessory: accessory)
        do {
            let answer = try verify.respond(to: post("/pair-verify", verify.start(), kind: "3"))
            return try verify.finish(post("/pair-verify", answer, kind: "3"))
        } catch let error as WireError {
            throw Self.translated(error)
        } catch let error as AirPlayError {
            throw error
        } catch {
            throw AirPlayError(.protocolViolation, "\(error)")
        }
    }

    /// Pairing by PIN, for good; the connection is of no further use afterwards.
    ///
    /// - Parameter pin: asks the user; called once the speaker shows its PIN.
    func setUp(_ identity: PairingIdentity, pin: () -> String?) throws(AirPlayError) -> PairedAccessory {
        // Any status will do: speakers with a fixed password show nothing.
        _ = try connection.exchange(
            "POST", "/pair-pin-start", headers: ["X-Apple-HKP": "3"], timeout: Self.timeout)
        var setup = PairSetup(.persistent)
        do {
            let challenge = try post("/pair-setup", setup.start(), kind: "3")
            guard let pin = pin() else {
                throw AirPlayError(.pairingRequired, "Pairing was given up; the speaker is as it was.")
            }
            let answer = try setup.respond(to: challenge, password: pin)
            let secret = try setup.finish(post("/pair-setup", answer, kind: "3"))
            let exchange = PairSetup.exchange(identity: identity, secret: secret)
            return try PairSetup.accessory(in: post("/pair-setup", exchange, kind: "3"), secret: secret)
        } catch let error as WireError {
            throw Self.translated(error)
        } catch let error as AirPlayError {
            throw error
        } catch {
            throw AirPlayError(.protocolViolation, "\(error)")
        }
    }

    private func post(_ path: String, _ body: [UInt8], kind: String) throws(AirPlayError) -> [UInt8] {
        try connection.exchange(
            "POST", path, headers: ["X-Apple-HKP": kind, "Content-Type": "application/octet-stream"], body: body,
            timeout: Self.timeout
        ).accepted("pair").body
    }

    private static func translated(_ error: WireError) -> AirPlayError {
        switch error.code {
        case .notAuthentic: AirPlayError(.notAuthentic, error.message)
        case .pairingRefused:
            AirPlayError(error.pairingError == .authentication ? .notAuthentic : .pairingRequired, error.message)
        default: AirPlayError(.protocolViolation, error.message)
        }
    }
}
