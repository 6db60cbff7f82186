/// The client (sender) of SRP-6a as HomeKit pairing uses it (RFC 5054 group of 3072 bits, SHA-512).
///
/// Numbers are hashed without leading zeros for x, K, M1 and M2, and padded for k and u. Receivers differ on this, and
/// some also strip leading zeros of K and M1. Private keys that lead to a leading zero are therefore discarded and
/// redrawn.
struct SRPClient: Sendable {
    private let username: String
    private let password: SecretBytes

    /// - Parameter password: `3939` for transient pairing, otherwise the PIN or the device's password.
    init(username: String = "Pair-Setup", password: String) {
        self.username = username
        self.password = SecretBytes(Array(password.utf8))
    }

    /// The client's values for M3, and the session key.
    struct Answer: Sendable {
        /// Public key A, 384 bytes.
        let publicKey: [UInt8]
        /// Client proof M1.
        let proof: [UInt8]
        /// Session key K, 64 bytes; unauthenticated until `verify` returns true.
        let sessionKey: SecretBytes
        let expectedProof: [UInt8]

        /// Returns true if the receiver's proof M2 matches, so that the receiver also has the password.
        func verify(_ proof: [UInt8]) -> Bool { Sodium.equal(proof, expectedProof) }
    }

    /// Returns the response to the receiver's salt and public key. Computes modular powers, about 30 ms.
    ///
    /// - Throws: `malformed` if the public key is zero modulo N, longer than N, or leads to u = 0.
    func answer(salt: [UInt8], receiverKey: [UInt8]) throws(WireError) -> Answer {
        // About 1 key in 64 has a leading zero; 64 in a row do not occur.
        for _ in 0..<64 {
            let privateKey = SecretBytes.random(count: 256)
            let (answer, isFull) = try answer(salt: salt, receiverKey: receiverKey, privateKey: privateKey)
            if isFull { return answer }
        }
        throw .malformed("The speaker's pairing key gives no usable secret; try again.")
    }

    /// Computes the response for a given private key. `isFull` is true if none of A, S, K and M1 has a leading zero
    /// byte.
    func answer(
        salt: [UInt8], receiverKey: [UInt8], privateKey a: SecretBytes
    ) throws(WireError) -> (answer: Answer, isFull: Bool) {
        guard salt.count <= 1024, receiverKey.count <= SRPGroup.size else {
            throw .malformed("The speaker sent a pairing key of a size that pairing does not use.")
        }
        let receiver = SRPGroup.padded(receiverKey)
        guard !SRPGroup.isZero(SRPGroup.reduced(receiver)) else {
            throw .malformed("The speaker sent a pairing key that is zero.")
        }
        let own = SRPGroup.power(SRPGroup.generator, a).withBytes { Array($0) }
        let u = SRP.scrambler(own, receiver)
        guard !SRPGroup.isZero(u) else { throw .malformed("The speaker sent a pairing key that hashes to zero.") }
        let x = SRP.passwordKey(username: username, password: password, salt: salt)
        // S = (B - k·g^x) ^ (a + u·x)
        let masked = SRPGroup.multiply(SRP.multiplier, SRPGroup.power(SRPGroup.generator, x))
        let base = SRPGroup.subtract(receiver, masked)
        let secret = SRPGroup.power(base, SRPGroup.multiplyAdd(u, x, a))
        let key = SRP.sessionKey(secret)
        let proof = SRP.proof(username: username, salt: salt, sender: own, receiver: receiver, key: key)
        let answer = Answer(
            publicKey: SRPGroup.minimal(own), proof: proof, sessionKey: key,
            expectedProof: SRP.counterProof(sender: own, proof: proof, key: key))
        let areHashesFull = proof[0] != 0 && key.withBytes { $0[0] != 0 }
        return (answer, own[0] != 0 && secret.withBytes { $0[0] != 0 } && areHashesFull)
    }
}

/// The hash functions that both sides of SRP use.
enum SRP {
    /// k = H(N | PAD(g))
    static let multiplier = SRPGroup.padded(Sodium.sha512(SRPGroup.modulus, SRPGroup.generator))

    /// u = H(PAD(A) | PAD(B))
    static func scrambler(_ sender: [UInt8], _ receiver: [UInt8]) -> [UInt8] { Sodium.sha512(sender, receiver) }

    /// x = H(salt | H(username : password))
    static func passwordKey(username: String, password: SecretBytes, salt: [UInt8]) -> SecretBytes {
        let inner = password.withBytes { Sodium.sha512(Array("\(username):".utf8), Array($0)) }
        return SecretBytes(Sodium.sha512(salt, inner))
    }

    /// K = H(S)
    static func sessionKey(_ secret: SecretBytes) -> SecretBytes {
        secret.withBytes { SecretBytes(Sodium.sha512(SRPGroup.minimal($0))) }
    }

    /// M1 = H( H(N) xor H(g) | H(username) | salt | A | B | K )
    static func proof(
        username: String, salt: [UInt8], sender: [UInt8], receiver: [UInt8], key: SecretBytes
    ) -> [UInt8] {
        let group = zip(Sodium.sha512(SRPGroup.modulus), Sodium.sha512([5])).map { $0 ^ $1 }
        return key.withBytes {
            Sodium.sha512(
                group, Sodium.sha512(Array(username.utf8)), salt, SRPGroup.minimal(sender),
                SRPGroup.minimal(receiver), Array($0))
        }
    }

    /// M2 = H( A | M1 | K )
    static func counterProof(sender: [UInt8], proof: [UInt8], key: SecretBytes) -> [UInt8] {
        key.withBytes { Sodium.sha512(SRPGroup.minimal(sender), proof, Array($0)) }
    }
}
