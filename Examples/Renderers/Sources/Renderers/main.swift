// A film from a file to a sound card or an AirPlay speaker, and to a window: with renderers alone, no player in
// between. usage: Renderers FILE [SPEAKER]
import AirPlay
import CardOutput
import Dispatch
import MediaCodecs
import MediaCore
import MediaFiles
import ScreenOutput
import SyncRendering

let words = CommandLine.arguments
guard words.count > 1 else { fatalError("usage: Renderers FILE [SPEAKER]") }

// Input.
let film = try MediaFile.open(words[1])

// Output: this computer's sound card, or a speaker on the network, by name or address (airplay://HOST).
let speakers = AirPlayProvider()
let places = words.count > 2 ? try speakers.find([words[2]], until: Interruption()) { print($0) } : []
let found = try places.flatMap { try speakers.outputs(at: $0) }
let output: any AudioDestination =
    switch found.count {
    case 0: SoundCard()
    case 1: found[0]
    default: OutputGroup(members: found, codecs: FilmAudioCodecs())
    }

// One timeline with two renderers.
let synchronizer = RenderSynchronizer()
let sound = AudioRenderer()
let pictures = DisplayLayer()
sound.setOutput(output)
synchronizer.addRenderer(sound)
synchronizer.addRenderer(pictures)

/// Feeds a renderer with a track, as far ahead as it requests. Without such a track the renderer is not waited for.
func feed(_ renderer: some QueuedSampleBufferRendering, with kind: Track.Kind) throws {
    guard let track = film.summary.track(kind) else { return renderer.stopRequestingMediaData() }
    let source = try film.reader(for: track)
    renderer.requestMediaDataWhenReady(on: DispatchQueue(label: kind.rawValue)) {
        while renderer.isReadyForMoreMediaData {
            do {
                guard let buffer = try source.read() else { return renderer.stopRequestingMediaData() }
                renderer.enqueue(buffer)
            } catch {
                // The readable part of a truncated film is played.
                print(error)
                return renderer.stopRequestingMediaData()
            }
        }
    }
}
try feed(sound, with: .audio)
try feed(pictures, with: .video)

// The window opens with the first frame. Space pauses; the end of the film, `q` and the close button close it.
let screen = ScreenLoop(converter: SoftwareFrameConverter())
let control = screen.control
control.attach(pictures, to: synchronizer)
Task.detached {
    for await input in control.inputs {
        switch input {
        case .key("SPACE", _): synchronizer.rate = synchronizer.rate == 0 ? 1 : 0
        case .key("q", _), .close: control.stop()
        default: break
        }
    }
}
let end = synchronizer.addBoundaryTimeObserver(forTimes: [film.summary.duration].compactMap { $0 }, queue: .main) {
    control.stop()
}

// The start waits for both renderers and the output; then film time runs.
synchronizer.setRate(1, time: .zero)
screen.run()

// Closes the output.
sound.invalidate()
speakers.remember()
if let error = sound.error ?? pictures.error { fatalError("\(error)") }
