internal import CFFmpeg

/// The discrete Fourier transform of one length, by libavutil. Owned and used by one thread.
///
/// Numbers are single precision; the inverse is not divided by the length.
public final class FourierTransform {
    /// Complex numbers in a block.
    public let count: Int
    /// What `forward` reads and `inverse` reads: real and imaginary parts in turn, `2 × count` of them.
    public let input: UnsafeMutablePointer<Float>
    /// Where both leave their result, in the same order.
    public let output: UnsafeMutablePointer<Float>

    private let ahead: (context: OpaquePointer, run: av_tx_fn)
    private let back: (context: OpaquePointer, run: av_tx_fn)

    /// - Parameter count: a power of two, 16 … 2²⁰.
    public init(count: Int) {
        precondition(count.nonzeroBitCount == 1 && (16...(1 << 20)).contains(count), "a length is a power of two")
        self.count = count
        guard let ahead = Self.plan(count, isInverse: false), let back = Self.plan(count, isInverse: true) else {
            fatalError("there is no memory left for a transform of \(count) numbers")
        }
        (self.ahead, self.back) = (ahead, back)
        // Vector code wants whole cache lines.
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

    /// From moments to frequencies.
    public func forward() { ahead.run(ahead.context, output, input, Self.stride) }

    /// From frequencies to moments, `count` times too large.
    public func inverse() { back.run(back.context, output, input, Self.stride) }

    /// The size of one complex number, as tx.h asks for.
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
