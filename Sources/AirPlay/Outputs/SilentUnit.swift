/// A silent AAC-LC access unit.
enum SilentUnit {
    /// A channel pair whose only window group uses code book 0 throughout, and the end element (ISO/IEC 14496-3,
    /// section 4.5.2).
    static let stereo: [UInt8] = [0x21, 0x10, 0x04, 0x60, 0x8C, 0x1C]
}
