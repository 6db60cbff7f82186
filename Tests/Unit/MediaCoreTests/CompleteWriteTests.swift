import Glibc
import MediaCore
import Testing

@Suite struct CompleteWriteTests {
    @Test func aFullDeviceIsReported() {
        let descriptor = open("/dev/full", O_WRONLY | O_CLOEXEC)
        defer { close(descriptor) }
        #expect(CompleteWrite.write([1, 2, 3], to: descriptor) == ENOSPC)
        #expect(CompleteWrite.write([], to: descriptor) == nil)
    }

    @Test func moreThanAPipeTakesAtOnceIsWritten() throws {
        var ends: [Int32] = [0, 0]
        #expect(pipe(&ends) == 0)
        let (reading, writing) = (ends[0], ends[1])
        let bytes = (0..<300_000).map { UInt8(truncatingIfNeeded: $0) }
        let received = Lock<[UInt8]>([])
        let reader = try WorkerThread.start(name: "reader") {
            var buffer = [UInt8](repeating: 0, count: 1000)
            while case let count = read(reading, &buffer, buffer.count), count > 0 {
                received.withLock { $0 += buffer[..<count] }
            }
        }
        #expect(CompleteWrite.write(bytes, to: writing) == nil)
        close(writing)
        reader.join()
        close(reading)
        #expect(received.withLock { $0 } == bytes)
    }
}
