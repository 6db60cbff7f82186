import MediaCore
import Testing

@testable import SyncRendering

/// A converter that returns its input blocks unchanged.
private final class Blocks: PCMConverter {
    var waiting: [(start: MediaTime, samples: [Float])] = []
    let decodeErrorCount = 0
    func send(_ buffer: SampleBuffer) {}
    func finish() {}
    func reset() { waiting.removeAll() }
    func receive(into block: PCMBlock) -> Bool {
        guard !waiting.isEmpty else { return false }
        let (start, samples) = waiting.removeFirst()
        (block.start, block.frames) = (start, samples.count)
        for (index, sample) in samples.enumerated() {
            (block.samples[2 * index], block.samples[2 * index + 1]) = (sample, sample)
        }
        return true
    }
}

@Suite struct ProcessingConverterTests {
    private let format = PCMFormat(sampleRate: 48_000, layout: .stereo)
    private let blocks = Blocks()

    private func time(_ frame: Int64) -> MediaTime { MediaTime(value: frame, timescale: 48_000) }

    /// Adds silence with impulses at some frames.
    private func put(_ range: Range<Int64>, impulses: Set<Int64>) {
        for start in stride(from: range.lowerBound, to: range.upperBound, by: 1000) {
            let end = min(start + 1000, range.upperBound)
            blocks.waiting.append((time(start), (start..<end).map { impulses.contains($0) ? 0.1 : 0 }))
        }
    }

    /// Collects the output by film frame; fails if frames are missing or repeated within a block.
    private func drain(_ converter: ProcessingConverter, into film: inout [Int64: Float]) throws {
        let block = PCMBlock(format: format, capacity: 1024)
        while try converter.receive(into: block) {
            let first = block.start.rescaled(to: 48_000)
            #expect(block.start == time(first))
            for index in 0..<block.frames {
                let isNew = film.updateValue(block.samples[2 * index], forKey: first + Int64(index)) == nil
                #expect(isNew)
            }
        }
    }

    private func louder(_ gain: Float) -> AudioProcessing {
        var processing = AudioProcessing.none
        processing.gain = gain
        return processing
    }

    @Test(arguments: [1, 1.5, 2.197] as [Float]) func impulsesStayWhereTheyAreToTheSample(gain: Float) throws {
        let places: Set<Int64> = [0, 999, 1000, 4321, 9998]
        put(0..<10_000, impulses: places)
        let converter = ProcessingConverter(blocks, format: format, processing: louder(gain))
        var film: [Int64: Float] = [:]
        try drain(converter, into: &film)
        converter.finish()
        try drain(converter, into: &film)
        #expect(film.count == 10_000)
        #expect(Set(film.filter { $0.value != 0 }.keys) == places)
        for place in places { #expect(abs((film[place] ?? 0) - 0.1 * gain) < 1e-6) }
    }

    @Test func switchedOnAndOffInMidStreamEveryFrameIsThereOnceAndInPlace() throws {
        let places: Set<Int64> = Set(stride(from: 17, to: 40_000, by: 331))
        put(0..<10_000, impulses: places)
        let converter = ProcessingConverter(blocks, format: format, processing: .none)
        var film: [Int64: Float] = [:]
        try drain(converter, into: &film)
        #expect(film.count == 10_000)
        converter.setProcessing(louder(2), from: time(12_345))
        put(10_000..<25_000, impulses: places)
        try drain(converter, into: &film)
        converter.setProcessing(.none, from: nil)
        put(25_000..<40_000, impulses: places)
        try drain(converter, into: &film)
        converter.finish()
        try drain(converter, into: &film)
        #expect(film.count == 40_000)
        #expect(Set(film.filter { $0.value != 0 }.keys) == places)
        // Unchanged up to the change, a transition of 20 ms, then twice as loud.
        #expect(film.filter { $0.key < 12_345 && $0.value != 0 }.allSatisfy { $0.value == 0.1 })
        let loud = film.filter { (13_400..<24_000).contains($0.key) && $0.value != 0 }
        #expect(loud.allSatisfy { abs($0.value - 0.2) < 1e-6 })
        #expect(film.filter { $0.key > 27_000 && $0.value != 0 }.allSatisfy { $0.value == 0.1 })
    }

    @Test func atNightEveryImpulseStaysInPlace() throws {
        let places: Set<Int64> = [0, 999, 1000, 4321, 9998]
        put(0..<10_000, impulses: places)
        var processing = louder(1)
        processing.isNight = true
        let converter = ProcessingConverter(blocks, format: format, processing: processing)
        var film: [Int64: Float] = [:]
        try drain(converter, into: &film)
        converter.finish()
        try drain(converter, into: &film)
        #expect(film.count == 10_000)
        #expect(Set(film.filter { $0.value != 0 }.keys) == places)
    }

    @Test func broughtToOneLoudnessEveryImpulseStaysInPlace() throws {
        let places: Set<Int64> = Set(stride(from: 100, to: 480_000, by: 991))
        put(0..<480_000, impulses: places)
        var processing = louder(1)
        processing.loudness = -20
        let converter = ProcessingConverter(blocks, format: format, processing: processing)
        var film: [Int64: Float] = [:]
        try drain(converter, into: &film)
        converter.finish()
        try drain(converter, into: &film)
        #expect(film.count == 480_000)
        #expect(Set(film.filter { $0.value != 0 }.keys) == places)
        #expect(abs((film[100 + 991] ?? 0) - 0.1) < 1e-6 && (film[100 + 991 * 480] ?? 0) > 0.12)
    }

    @Test func aHoleInTheFilmStaysAHoleAndWhatIsHeldComesBeforeIt() throws {
        put(0..<5_000, impulses: [4_999])
        put(96_000..<99_000, impulses: [96_000])
        let converter = ProcessingConverter(blocks, format: format, processing: louder(2))
        var film: [Int64: Float] = [:]
        try drain(converter, into: &film)
        converter.finish()
        try drain(converter, into: &film)
        #expect(film.count == 8_000)
        #expect(Set(film.filter { $0.value != 0 }.keys) == [4_999, 96_000])
    }

    @Test func whatIsHeldIsForgottenInAJump() throws {
        put(0..<3_000, impulses: [2_999])
        let converter = ProcessingConverter(blocks, format: format, processing: louder(2))
        var film: [Int64: Float] = [:]
        try drain(converter, into: &film)
        converter.reset()
        film.removeAll()
        put(50_000..<52_000, impulses: [50_001])
        try drain(converter, into: &film)
        converter.finish()
        try drain(converter, into: &film)
        #expect(film.keys.min() == 50_000 && film.count == 2_000)
        #expect(Set(film.filter { $0.value != 0 }.keys) == [50_001])
    }

    @Test func aPiecesOwnGainBeginsWithItsFirstFrameAndMovesNothing() throws {
        let places: Set<Int64> = Set(stride(from: 0, to: 20_000, by: 125))
        let converter = ProcessingConverter(blocks, format: format, processing: .none)
        var film: [Int64: Float] = [:]
        func send(_ range: Range<Int64>, gain: Float) throws {
            put(range, impulses: places)
            var buffer = SampleBuffer(
                payload: .pcm(PCMBlock(format: format, capacity: 1)), presentationTime: time(range.lowerBound))
            buffer.gain = gain
            try converter.send(buffer)
            try drain(converter, into: &film)
        }
        try send(0..<5_500, gain: 0.5)
        try send(5_500..<20_000, gain: 2)
        converter.finish()
        try drain(converter, into: &film)
        #expect(film.count == 20_000)
        let heard = film.filter { $0.value != 0 }
        #expect(Set(heard.keys) == places)
        #expect(heard.filter { $0.key < 5_500 }.allSatisfy { $0.value == 0.05 })
        #expect(heard.filter { $0.key > 6_500 }.allSatisfy { abs($0.value - 0.2) < 1e-6 })
    }

    @Test func withoutProcessingNoFrameIsHeldOrChanged() throws {
        put(0..<3_000, impulses: [2_999])
        let converter = ProcessingConverter(blocks, format: format, processing: .none)
        var film: [Int64: Float] = [:]
        try drain(converter, into: &film)
        #expect(film.count == 3_000 && film[2_999] == 0.1)
    }
}
