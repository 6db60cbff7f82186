import MediaCore
import Profiles
import Testing

@testable import Calibration

@Suite struct CalibrationAnalysisTests {
    @Test(arguments: [-100.0, -12.3456, 0, 87.654, 400])
    func aKnownDelayIsFoundToAFiftiethOfAMillisecond(delay: Double) throws {
        var room = SyntheticRoom()
        room.delays = [delay]
        let answer = try #require(try room.answer().speakers.first)
        // Frames were shown 0.4 ms late.
        #expect(abs(answer.offset - (delay - 0.4)) < 0.02)
        #expect(answer.sigma < 0.02)
        #expect(answer.used == 12)
        #expect(answer.interval.contains(answer.offset))
    }

    @Test(arguments: [16000, 44100, 96000])
    func everyUsualSampleRateGivesTheSameResult(rate: Int) throws {
        var room = SyntheticRoom()
        room.rate = rate
        room.delays = [33.3]
        #expect(abs(try room.answer().speakers[0].offset - 32.9) < 0.05)
    }

    @Test func pinkNoiseAsLoudAsTheSoundMovesTheAnswerByLessThanTwoMilliseconds() throws {
        var room = SyntheticRoom()
        room.delays = [50]
        room.noise = 1
        let answer = try room.answer().speakers[0]
        #expect(abs(answer.offset - 49.6) < 0.3)
        #expect(answer.sigma < 2)
    }

    @Test func anEchoHalfAsLoudMovesTheAnswerByLessThanTwoMilliseconds() throws {
        var room = SyntheticRoom()
        room.delays = [50]
        room.echo = (0.030, 0.5)
        #expect(abs(try room.answer().speakers[0].offset - 49.6) < 0.1)
    }

    @Test func noiseAndEchoTogetherAreBorne() throws {
        var room = SyntheticRoom()
        room.delays = [-80]
        room.echo = (0.030, 0.5)
        room.noise = 1
        #expect(abs(try room.answer().speakers[0].offset + 80.4) < 0.5)
    }

    @Test func aSpeakersDriftIsReportedInPartsPerMillion() throws {
        var room = SyntheticRoom()
        room.delays = [10]
        room.drift = 120
        let answer = try room.answer()
        #expect(abs(try #require(answer.speakers[0].drift).ppm - 120) < 3)
        #expect(answer.remarks.contains { $0.contains("drifts by +120 ppm") })
    }

    @Test func twoSpeakersTwelveMillisecondsApartAreDistinguished() throws {
        var room = SyntheticRoom(speakers: 2)
        room.delays = [40, 52]
        room.noise = 0.5
        let answer = try room.answer()
        #expect(answer.speakers.count == 2)
        #expect(abs(try #require(answer.speakers[1].behindFirst) - 12) < 0.2)
        #expect(answer.speakers.allSatisfy { $0.used >= 10 })
    }

    @Test func fourSpeakersKeepTheirSoundsApart() throws {
        var room = SyntheticRoom(speakers: 4, events: 10)
        room.delays = [0, 15, -20, 200]
        let answer = try room.answer()
        for (speaker, delay) in zip(answer.speakers, room.delays) {
            #expect(abs(speaker.audioRest - delay) < 0.05)
        }
    }

    @Test func severalSpeakersAtAMicrophoneAreDifferencesOnly() throws {
        var room = SyntheticRoom(speakers: 2)
        room.delays = [40, 52]
        let answer = try CalibrationAnalysis(
            recording: room.recording(), record: room.record, isHeardAtSource: false
        ).answer()
        #expect(answer.way == .differences)
        #expect(answer.speakers.allSatisfy { !$0.isOffsetKnown })
        #expect(abs(try #require(answer.speakers[1].behindFirst) - 12) < 0.05)
    }

    @Test func aLightSensorBringsTheScreensOwnDelayIn() throws {
        var room = SyntheticRoom()
        room.delays = [100]
        room.light = 35
        let answer = try room.answer()
        #expect(answer.way == .light)
        #expect(answer.speakers[0].screenShare == .measured)
        // Audio is 100 ms late; the frame is 0.4 ms late at the flip and 35 ms more at the panel.
        #expect(abs(answer.speakers[0].offset - 64.6) < 0.3)
    }

    @Test func aDisplayThatStatesItsDelayIsBelievedAndNamed() throws {
        var room = SyntheticRoom()
        room.delays = [100]
        room.record.display?.statedDelay = .milliseconds(40)
        let answer = try room.answer()
        #expect(abs(answer.speakers[0].offset - 59.6) < 0.05)
        #expect(answer.remarks.contains { $0.contains("EDID") })
    }

    @Test func rejectedEventsAreExcludedWithReasons() throws {
        var room = SyntheticRoom()
        room.delays = [20]
        var recording = room.recording()
        // The third sound is 12 ms late, the fifth is missing.
        for (index, shift) in [(2, 0.012), (4, nil)] as [(Int, Double?)] {
            let event = room.record.events[index]
            let onset = ((event.due - room.origin).inSeconds + 0.020) * 48000
            for frame in (Int(onset) - 10)..<(Int(onset) + 3900) { recording.channels[0][frame] = 0 }
            if let shift {
                event.code.add(to: &recording.channels[0], onset: onset + shift * 48000, rate: 48000, amplitude: 0.2)
            }
        }
        let answer = try CalibrationAnalysis(recording: recording, record: room.record).answer().speakers[0]
        #expect(abs(answer.offset - 19.6) < 0.02)
        #expect(answer.readings[2].rejection == "outlier")
        #expect(answer.readings[4].rejection == "not heard")
        #expect(answer.used == 10)
    }

    // MARK: Invalid input

    /// The advice depends on the most frequent reason; a reason without advice is named.
    @Test(arguments: [
        ("clipped", "turn the microphone's gain"), ("echo", "closer to 'Kitchen'"), ("not heard", "turn it up"),
        ("flash not shown", "keep the window in front"), ("flash not seen", "light sensor"),
        ("outlier", "close other programs"), (nil, "the recording is too short"), ("default", "rejected as 'default'"),
    ])
    func theAdviceFollowsFromTheReasonOfMostRefusals(reason: String?, advice: String) {
        let empty = Recording(sampleRate: 48000, channels: [[]], anchors: [])
        let analysis = CalibrationAnalysis(recording: empty, record: SyntheticRoom().record)
        let readings = (0..<5).map { number in
            SpeakerAnswer.Reading(
                event: number, time: 0, rejection: number < 3 ? reason : number == 3 ? "unusual" : nil)
        }
        let message = analysis.tooFew(reason == nil ? Array(readings.prefix(3)) : readings, of: "Kitchen").message
        #expect(message.contains(advice), "\(message)")
        #expect(message.contains(reason == nil ? "3 of 3 events" : "1 of 5 events"))
    }

    private func refusal(_ recording: Recording, _ record: CalibrationRecord, light: Bool = false) -> TalkieError? {
        do {
            _ = try CalibrationAnalysis(recording: recording, record: record, expectsLight: light).answer()
            return nil
        } catch {
            return error
        }
    }

    @Test func silenceIsCalledSilence() throws {
        let room = SyntheticRoom()
        var recording = room.recording()
        recording.channels[0] = recording.channels[0].map { _ in 0 }
        let failure = try #require(refusal(recording, room.record))
        #expect(failure.code == .failed)
        #expect(failure.message.contains("silent"))
        #expect(failure.message.contains("nothing was stored"))
    }

    @Test func otherSoundIsNoMeasurement() throws {
        let room = SyntheticRoom()
        var recording = room.recording()
        var numbers = SeededNumbers(state: 3)
        recording.channels[0] = SyntheticRoom.pinkNoise(recording.frames, using: &numbers).map { $0 * 0.2 }
        let failure = try #require(refusal(recording, room.record))
        #expect(failure.code == .failed)
        #expect(failure.message.contains("too noisy"))
    }

    @Test func aRecordingOfAnotherRunIsRecognised() throws {
        var other = SyntheticRoom(seed: 99)
        other.delays = [20]
        let failure = try #require(refusal(other.recording(), SyntheticRoom(seed: 1).record))
        #expect(failure.message.contains("another run") || failure.message.contains("too noisy"))
    }

    @Test func anOldRecordingIsCalledOld() throws {
        let room = SyntheticRoom()
        var recording = room.recording()
        for index in recording.anchors.indices {
            recording.anchors[index].instant = recording.anchors[index].instant.advanced(by: .seconds(-90))
        }
        let failure = try #require(refusal(recording, room.record))
        #expect(failure.code == .cannotOpen)
        #expect(failure.message.contains("old"))
    }

    @Test func aFileWhoseSamplesHaveAnotherRateThanItsLabelIsFoundOut() throws {
        var room = SyntheticRoom()
        room.rate = 44100
        var recording = room.recording()
        recording.sampleRate = 48000
        #expect(try #require(refusal(recording, room.record)).message.contains("44100"))
        // Also if only the sounds reveal it.
        recording.anchors = [recording.anchors[0]]
        let failure = try #require(refusal(recording, room.record))
        #expect(failure.code == .cannotOpen)
        #expect(failure.message.contains("48000") && failure.message.contains("44100"))
    }

    @Test func aClippedRecordingIsCalledClipped() throws {
        var room = SyntheticRoom()
        room.gain = 40
        let failure = try #require(refusal(room.recording(), room.record))
        #expect(failure.message.contains("clipped"))
    }

    @Test func aSpeakerThatRunsAwayIsNotBelieved() throws {
        var room = SyntheticRoom()
        room.drift = 900
        #expect(try #require(refusal(room.recording(), room.record)).message.contains("+900 ppm"))
    }

    @Test func anEchoAsLoudAsTheSoundIsNamed() throws {
        var room = SyntheticRoom()
        room.echo = (0.030, 0.95)
        #expect(try #require(refusal(room.recording(), room.record)).message.contains("echo"))
    }

    @Test func aScreenThatNeverFlashedIsNamed() throws {
        var room = SyntheticRoom()
        for index in room.record.events.indices { room.record.events[index].flashed = nil }
        #expect(try #require(refusal(room.recording(), room.record)).message.contains("never flashed"))
    }

    @Test func aLightSensorThatSawNothingIsNamed() throws {
        let room = SyntheticRoom()
        var recording = room.recording()
        recording.channels.append([Float](repeating: 0, count: recording.frames))
        #expect(try #require(refusal(recording, room.record, light: true)).message.contains("light sensor"))
        // Without the option the second channel counts as an empty channel of a microphone.
        #expect(refusal(recording, room.record) == nil)
    }
}
