/// The sender's half of SRP-6a as HomeKit pairing uses it (RFC 5054 group of 3072 bits, SHA-512).
///
/// In the hashes x, K, M1 and M2 numbers have no leading zeros; in k and u they are padded. Receivers disagree about
/// that, and some take K and M1 for numbers too, so a private key for which one of these would be short is drawn again,
/// and the question never arises.
package struct SRPClient: Sendable {
    private let username: String
    private let password: SecretBytes

    /// - Parameter password: `3939` for transient pairing, else the PIN or the device's password.
    package init(username: String = "Pair-Setup", password: String) {
        self.username = username
        self.password = SecretBytes(Array(password.utf8))
    }

    /// What answers the receiver's salt and public key.
    package struct Answer: Sendable {
        /// A, 384 bytes.
        package let publicKey: [UInt8]
        /// M1.
        package let proof: [UInt8]
        /// K, 64 bytes; trust it only after `verify`.
        package let sessionKey: SecretBytes
        let expectedProof: [UInt8]

        /// Whether the receiver's proof M2 shows that it knows the password too.
        package func verify(_ proof: [UInt8]) -> Bool { Sodium.equal(proof, expectedProof) }
    }

    /// - Throws: `malformed` for a public key that is zero modulo N, longer than N or otherwise a trick.
    package func answer(salt: [UInt8], receiverKey: [UInt8]) throws(WireError) -> Answer {
        // About 1 draw in 64 is short; 64 in a row never happen.
        for _ in 0..<64 {
            let privateKey = SecretBytes.random(count: 256)
            let (answer, isFull) = try answer(salt: salt, receiverKey: receiverKey, privateKey: privateKey)
            if isFull { return answer }
        }
        throw .malformed("The speaker's pairing key leads to no usable secret; try again.")
    }

    /// With a private key of the caller's choice; `isFull` when none of A, S, K and M1 begins with a zero byte.
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

/// The hashes both sides of SRP share.
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
