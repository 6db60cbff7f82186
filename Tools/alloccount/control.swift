// Control program of the counter: 300 frames, of which the last 200 are counted. Each makes only the mode's
// allocations.
//
//   control object | libc | none
import Glibc

final class Allocated {
    var next: Allocated?
}

nonisolated(unsafe) var kept: Allocated?
nonisolated(unsafe) var text: UnsafeMutablePointer<CChar>?

@inline(never) func frame(_ mode: Int) {
    switch mode {
    case 1: kept = Allocated()
    case 2:
        free(text)
        text = strdup("one")
    default: break
    }
}

let mode = CommandLine.arguments.last == "object" ? 1 : CommandLine.arguments.last == "libc" ? 2 : 0
for number in 0..<300 {
    if number == 100 { raise(SIGUSR1) }
    frame(mode)
}
raise(SIGUSR2)
