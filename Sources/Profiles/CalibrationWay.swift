/// How a measurement was taken: decides what it can know.
package enum CalibrationWay: String, Sendable {
    /// A microphone, and a light sensor on its second channel.
    case light
    /// A microphone, or a recording, against the moment of the flip.
    case microphone
    /// One microphone, several speakers: differences only.
    case differences
    /// A person's eye and ear.
    case eyeAndEar = "eye-and-ear"
}
