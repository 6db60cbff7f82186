/// An access unit of AAC-LC in which nothing is coded.
enum SilentUnit {
    /// A channel pair whose one window group uses code book 0 throughout, and the end mark (ISO/IEC 14496-3,
    /// section 4.5.2).
    static let stereo: [UInt8] = [0x21, 0x10, 0x04, 0x60, 0x8C, 0x1C]
}
