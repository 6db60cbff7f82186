internal import MediaCodecs
internal import MediaCore
package import ScreenOutput

extension ScreenControl {
    /// Captures the window as a PNG; nil without an image.
    ///
    /// - Parameter report: Called with a sentence if an image cannot be encoded.
    package func pngScreenshot(report: @escaping @Sendable (String) -> Void) async -> [UInt8]? {
        let image = await withCheckedContinuation { continuation in
            captureSnapshot(.screen) { continuation.resume(returning: $0) }
        }
        guard let image else { return nil }
        do throws(MediaError) { return try PNGEncoder.encode(bgra: image.pixels, size: image.size) } catch {
            report("no screenshot can be taken: \(error.message)")
            return nil
        }
    }
}
