/// The measurement method of a calibration, which determines what it can measure.
package enum CalibrationMethod: String, Sendable {
    /// A microphone, with a light sensor on its second channel.
    case light = "light"
    /// A microphone or a recording, relative to the time of the page flip.
    case microphone = "microphone"
    /// One microphone and several speakers: differences only.
    case differences = "differences"
    /// A video of screen and speakers.
    case video = "video"
    /// Adjustment by eye and ear of the user.
    case eyeAndEar = "eye-and-ear"
}
