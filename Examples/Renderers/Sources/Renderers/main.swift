// A film from a file to a sound card or an AirPlay speaker, and to a window: with renderers alone, no player in between.
// usage: Renderers FILE [SPEAKER]
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

// What to play.
let film = try MediaFile.open(words[1])

// Where to: this computer's sound card, or a speaker across the network, by name or address (airplay://HOST).
let speakers = AirPlayProvider()
let places = words.count > 2 ? try speakers.find([words[2]], until: Interruption()) { print($0) } : []
let found = try places.flatMap { try speakers.outputs(at: $0) }
let output: any AudioOutput =
    switch found.count {
    case 0: SoundCard()
    case 1: found[0]
    default: OutputGroup(members: found, codecs: FilmAudioCodecs())
    }

// One timeline, and two renderers on it.
let synchronizer = RenderSynchronizer()
let sound = AudioRenderer()
let pictures = DisplayLayer()
sound.setOutput(output)
synchronizer.addRenderer(sound)
synchronizer.addRenderer(pictures)

/// Feeds a renderer with a track, as far ahead as it asks for. A film without such a track has none to wait for.
func feed(_ renderer: some QueuedSampleBufferRendering, with kind: Track.Kind) throws {
    guard let track = film.summary.track(kind) else { return renderer.stopRequestingMediaData() }
    let source = try film.reader(for: track)
    renderer.requestMediaDataWhenReady(on: DispatchQueue(label: kind.rawValue)) {
        while renderer.isReadyForMoreMediaData {
            do {
                guard let buffer = try source.read() else { return renderer.stopRequestingMediaData() }
                renderer.enqueue(buffer)
            } catch {
                // A film that breaks off: what there is of it is played.
                print(error)
                return renderer.stopRequestingMediaData()
            }
        }
    }
}
try feed(sound, with: .audio)
try feed(pictures, with: .video)

// The window: it opens with the first picture. Space pauses; the film's end, `q` and the window's own button close it.
let screen = ScreenLoop(converter: SoftwarePictureConverter())
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

// Both wait for each other, and for the output; then film passes.
synchronizer.setRate(1, time: .zero)
screen.run()

// Gives the speaker or the card back.
sound.invalidate()
speakers.remember()
if let error = sound.error ?? pictures.error { fatalError("\(error)") }
