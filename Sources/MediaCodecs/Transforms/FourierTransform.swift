internal import CFFmpeg

/// The discrete Fourier transform of one length, by libavutil. Owned and used by one thread.
///
/// Single precision; the inverse is not divided by the length.
package final class FourierTransform {
    /// The number of complex values per block.
    package let count: Int
    /// The input of `forward` and `inverse`: interleaved real and imaginary parts, `2 × count` values.
    package let input: UnsafeMutablePointer<Float>
    /// The output of both transforms, in the same order.
    package let output: UnsafeMutablePointer<Float>

    private let ahead: (context: OpaquePointer, run: av_tx_fn)
    private let back: (context: OpaquePointer, run: av_tx_fn)

    /// Allocates the buffers and plans; traps without memory.
    ///
    /// - Parameter count: A power of two, 16 … 2²⁰.
    package init(count: Int) {
        precondition(count.nonzeroBitCount == 1 && (16...(1 << 20)).contains(count), "a length is a power of two")
        self.count = count
        guard let ahead = Self.plan(count, isInverse: false), let back = Self.plan(count, isInverse: true) else {
            fatalError("there is no memory left for a transform of \(count) numbers")
        }
        (self.ahead, self.back) = (ahead, back)
        // libavutil's vector code requires alignment to cache lines.
        input = Self.numbers(count)
        output = Self.numbers(count)
    }

    deinit {
        for plan in [ahead, back] {
            var context: OpaquePointer? = plan.context
            av_tx_uninit(&context)
        }
        UnsafeMutableRawPointer(input).deallocate()
        UnsafeMutableRawPointer(output).deallocate()
    }

    /// Transforms `input` from time to frequency into `output`.
    package func forward() { ahead.run(ahead.context, output, input, Self.stride) }

    /// Transforms `input` from frequency to time into `output`, scaled by `count`.
    package func inverse() { back.run(back.context, output, input, Self.stride) }

    /// The size of a complex value in bytes, as required by tx.h.
    private static let stride = 2 * MemoryLayout<Float>.stride

    private static func plan(_ count: Int, isInverse: Bool) -> (context: OpaquePointer, run: av_tx_fn)? {
        var context: OpaquePointer?
        var run: av_tx_fn?
        var scale: Float = 1
        let code = av_tx_init(&context, &run, AV_TX_FLOAT_FFT, isInverse ? 1 : 0, Int32(count), &scale, 0)
        guard code >= 0, let context, let run else { return nil }
        return (context, run)
    }

    private static func numbers(_ count: Int) -> UnsafeMutablePointer<Float> {
        let memory = UnsafeMutableRawPointer.allocate(byteCount: count * stride, alignment: 64)
        memory.initializeMemory(as: UInt8.self, repeating: 0, count: count * stride)
        return memory.bindMemory(to: Float.self, capacity: 2 * count)
    }
}
