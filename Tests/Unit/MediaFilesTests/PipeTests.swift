import Glibc
import MediaCore
import MediaFiles
import TalkieTestKit
import Testing

@Suite struct PipeTests {
    let folder = TemporaryFolder()

    @Test(arguments: ["a.mkv", "a.ts", "a.mp4"]) func aFilmFromAPipePlaysAndStaysTogether(_ file: String) throws {
        let clip = try TestClips.flashAndBeep(
            "pipe-" + file, "-c:v libx264 -g 25 -c:a aac" + (file == "a.mp4" ? " -movflags +faststart" : ""))
        let path = FedPipe.make(in: folder)
        let feeder = try FedPipe.feed(path, try TestClips.bytes(of: clip))
        let film = try MediaFile.open(path)
        #expect(film.summary.sharesReader && !film.summary.isSeekable)
        let video = try film.reader(for: try #require(film.summary.track(.video)))
        let audio = try film.reader(for: try #require(film.summary.track(.audio)))
        let sound = Lock<FilmAudio?>(nil)
        let ears = try! WorkerThread.start(name: "ears") {
            let heard = try? FilmAudio.decode(audio)
            sound.withLock { $0 = heard }
        }
        let pictures = try FilmFrames.decode(video)
        ears.join()
        feeder.join()
        let heard = try #require(sound.withLock { $0 })
        #expect(pictures.flashes.count == 4)
        for second in 1..<4 {
            let flash = try #require(pictures.flashes.first { abs($0.seconds - Double(second)) < 0.3 })
            let beep = try #require(heard.beeps.first { abs($0 - Double(second)) < 0.35 })
            #expect(abs(beep - 0.05 - flash.seconds) < 0.001)
        }
        #expect(throws: MediaError.self) { try video.seek(to: .zero, mode: .exact) }
    }

    @Test func severalReadersOfATrackOfAPipeReadItIndependently() throws {
        let clip = try TestClips.flashAndBeep("pipe-a.mkv", "-c:v libx264 -g 25 -c:a aac")
        let path = FedPipe.make(in: folder)
        let feeder = try FedPipe.feed(path, try TestClips.bytes(of: clip))
        let film = try MediaFile.open(path)
        let track = try #require(film.summary.track(.audio))
        let readers = [try film.reader(for: track), try film.reader(for: track)]
        let sounds = Lock<[[Double]]>([])
        let ears = readers.map { reader in
            try! WorkerThread.start(name: "ears") {
                let beeps = (try? FilmAudio.decode(reader))?.beeps ?? []
                sounds.withLock { $0.append(beeps) }
            }
        }
        for worker in ears { worker.join() }
        feeder.join()
        let heard = sounds.withLock { $0 }
        #expect(heard.count == 2 && heard.first == heard.last)
        #expect(heard.first.map { $0.count >= 3 } == true)
    }

    @Test func anIndexAtTheEndOfAPipeIsSaidToBeThere() throws {
        let clip = try TestClips.make(
            "index-last.mp4",
            ["-f", "lavfi", "-i", "testsrc2=s=320x180:r=25:d=4", "-f", "lavfi", "-i", "sine=d=4"]
                + TestClips.arguments("-c:v libx264 -preset ultrafast -c:a aac"))
        let path = FedPipe.make(in: folder)
        let feeder = try FedPipe.feed(path, try TestClips.bytes(of: clip))
        let error = #expect(throws: MediaError.self) { try MediaFile.open(path) }
        #expect(error?.message.contains("index at the end") == true, "\(error?.message ?? "")")
        #expect(error?.message.contains("+faststart") == true)
        feeder.join()
    }

    @Test(.timeLimit(.minutes(10))) func aPipeWithoutAWriterCanBeCancelled() throws {
        let path = FedPipe.make(in: folder)
        let cancellation = Cancellation()
        let code = Lock<MediaError.Code?>(nil)
        let worker = try! WorkerThread.start(name: "opener") {
            do throws(MediaError) { _ = try MediaFile.open(path, cancellation: cancellation) } catch {
                code.withLock { $0 = error.code }
            }
        }
        // Blocks until the reader has opened its end (fifo(7)).
        let writer = open(path, O_WRONLY)
        try #require(writer >= 0)
        cancellation.cancel()
        worker.join()
        close(writer)
        #expect(code.withLock { $0 } == .cancelled)
    }

    /// As when the only track that is read is replaced: its reader is cancelled while it waits for the input.
    @Test(.timeLimit(.minutes(10))) func aReaderContinuesAfterAllOthersWereCancelled() throws {
        let clip = try TestClips.flashAndBeep("pipe-a.ts", "-c:v libx264 -g 25 -c:a aac")
        let bytes = try TestClips.bytes(of: clip)
        let path = FedPipe.make(in: folder)
        let (drained, goOn) = (Signal(), Signal())
        let feeder = try WorkerThread.start(name: "feeder") {
            let pipe = open(path, O_WRONLY)
            defer { close(pipe) }
            func send(_ part: ArraySlice<UInt8>) {
                var rest = part
                while !rest.isEmpty {
                    let got = rest.withUnsafeBytes { write(pipe, $0.baseAddress!, $0.count) }
                    if got <= 0 { return }
                    rest = rest.dropFirst(got)
                }
            }
            send(bytes[..<(bytes.count * 9 / 10)])
            var left: Int32 = 1
            while left > 0, ioctl(pipe, UInt(FIONREAD), &left) == 0 { sched_yield() }
            drained.raise()
            goOn.wait()
            send(bytes[(bytes.count * 9 / 10)...])
        }
        let film = try MediaFile.open(path)
        let track = try #require(film.summary.track(.audio))
        let first = try film.reader(for: track)
        let code = Lock<MediaError.Code?>(nil)
        let worker = try WorkerThread.start(name: "reader") {
            do throws(MediaError) { while try first.read() != nil {} } catch { code.withLock { $0 = error.code } }
        }
        drained.wait()
        first.cancel()
        worker.join()
        #expect(code.withLock { $0 } == .cancelled)
        let second = try film.reader(for: track)
        goOn.raise()
        var last: MediaTime?
        while let buffer = try second.read() { last = buffer.presentationTime ?? last }
        #expect(try #require(last).seconds > 3.5)
        feeder.join()
    }

    /// One track is read to its end while the other is not read: the other's window stays bounded.
    @Test func anUnreadTrackDoesNotBlockOthersPermanently() throws {
        let clip = try TestClips.make(
            "big.mkv",
            ["-f", "lavfi", "-i", "testsrc2=s=320x180:r=25:d=4,noise=alls=60:allf=t", "-f", "lavfi", "-i", "sine=d=4"]
                + TestClips.arguments("-c:v libx264 -preset ultrafast -qp 10 -g 5 -c:a aac"))
        let bytes = try TestClips.bytes(of: clip)
        #expect(bytes.count > 6 << 20)
        let path = FedPipe.make(in: folder)
        let feeder = try FedPipe.feed(path, bytes)
        var options = ReadOptions()
        options.windowBytes = 1 << 20
        let film = try MediaFile.open(path, options: options)
        let video = try film.reader(for: try #require(film.summary.track(.video)))
        let audio = try film.reader(for: try #require(film.summary.track(.audio)))
        let sound = try FilmAudio.decode(audio)
        #expect(sound.end.seconds > 3.9)
        // The rest of the video is its end, starting with a keyframe.
        let first = try #require(try video.read())
        #expect(first.flags.contains(.discontinuity) && first.flags.contains(.sync))
        var kept = 0
        var last = first
        while let buffer = try video.read() {
            if case .encodedVideo(_, let batch) = buffer.payload { kept += batch.byteCount }
            last = buffer
        }
        #expect(kept < 4 << 20)
        #expect(try #require(last.presentationTime).seconds > 3.5)
        feeder.join()
    }
}
