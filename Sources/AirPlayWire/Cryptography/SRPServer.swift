/// The server (receiver) of SRP-6a, for software receivers.
struct SRPServer: Sendable {
    /// Salt, sent to the client in M2.
    let salt: [UInt8]
    /// Public key B, sent to the client in M2.
    let publicKey: [UInt8]
    private let username: String
    private let verifier: SecretBytes
    private let privateKey: SecretBytes

    /// - Parameter saltSize: 15 simulates a receiver that strips the leading zero of 16 bytes.
    init(username: String = "Pair-Setup", password: String, saltSize: Int = 16) {
        let salt = SecretBytes.random(count: saltSize).withBytes { Array($0) }
        var made = SRPServer(username: username, password: password, salt: salt, privateKey: .random(count: 32))
        // Senders differ on public keys with a leading zero byte; redraw until there is none.
        while made.publicKey.count < SRPGroup.size {
            made = SRPServer(username: username, password: password, salt: salt, privateKey: .random(count: 32))
        }
        self = made
    }

    init(username: String, password: String, salt: [UInt8], privateKey: SecretBytes) {
        self.username = username
        self.salt = salt
        self.privateKey = privateKey
        let x = SRP.passwordKey(username: username, password: SecretBytes(Array(password.utf8)), salt: salt)
        verifier = SRPGroup.power(SRPGroup.generator, x)
        // B = k·v + g^b
        let shared = SRPGroup.add(
            SRPGroup.multiply(SRP.multiplier, verifier), SRPGroup.power(SRPGroup.generator, privateKey))
        publicKey = SRPGroup.minimal(shared)
    }

    /// Verifies the client's public key and proof. Returns the server's proof and the session key; nil for a wrong
    /// password.
    ///
    /// - Throws: `malformed` if the public key is too long or zero modulo N.
    func accept(senderKey: [UInt8], proof: [UInt8]) throws(WireError) -> (proof: [UInt8], key: SecretBytes)? {
        guard senderKey.count <= SRPGroup.size else { throw .malformed("The sender's pairing key is too long.") }
        let sender = SRPGroup.padded(senderKey)
        guard !SRPGroup.isZero(SRPGroup.reduced(sender)) else {
            throw .malformed("The sender's pairing key is zero.")
        }
        let receiver = SRPGroup.padded(publicKey)
        // S = (A · v^u) ^ b
        let power = SRPGroup.power(verifier.withBytes { Array($0) }, SecretBytes(SRP.scrambler(sender, receiver)))
        let base = SRPGroup.multiply(sender, power).withBytes { Array($0) }
        let key = SRP.sessionKey(SRPGroup.power(base, privateKey))
        let expected = SRP.proof(username: username, salt: salt, sender: sender, receiver: receiver, key: key)
        guard Sodium.equal(proof, expected) else { return nil }
        return (SRP.counterProof(sender: sender, proof: proof, key: key), key)
    }
}
