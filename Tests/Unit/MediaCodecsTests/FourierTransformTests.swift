import Glibc
import Testing

@testable import MediaCodecs

@Suite struct FourierTransformTests {
    @Test(arguments: [16, 1024, 16384])
    func aToneIsOneLineAndComesBackAsItWas(count: Int) {
        let transform = FourierTransform(count: count)
        let tone = (0..<count).map { index -> Float in Float(cos(2 * Double.pi * 3 * Double(index) / Double(count))) }
        for (index, value) in tone.enumerated() {
            transform.input[2 * index] = value
            transform.input[2 * index + 1] = 0
        }
        transform.forward()
        for index in 0..<count {
            let size = (transform.output[2 * index], transform.output[2 * index + 1])
            let expected: Float = index == 3 || index == count - 3 ? Float(count) / 2 : 0
            #expect(abs((size.0 * size.0 + size.1 * size.1).squareRoot() - expected) < Float(count) * 1e-5)
            transform.input[2 * index] = size.0
            transform.input[2 * index + 1] = size.1
        }
        transform.inverse()
        for (index, value) in tone.enumerated() {
            #expect(abs(transform.output[2 * index] / Float(count) - value) < 1e-4)
        }
    }
}
