// Reads a track of a film of a web server as fast as it arrives, for the experiment `libcurl`, through the classes that
// playback uses: `web_reader ADDRESS`. Linked with the objects of a release build.
import Glibc
import MediaCore
import MediaFiles

func processorTime() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
}

let start = HostInstant.now
let film = try MediaFile.open(CommandLine.arguments[1])
// One track: a second reader would request the segments again.
let reader = try film.reader(for: film.summary.tracks[0])
var buffers = 0
while try reader.read() != nil { buffers += 1 }
let wall = HostInstant.now - start
print("{\"code\": 0, \"wall\": \(wall / .seconds(1)), \"processor\": \(processorTime()), \"buffers\": \(buffers)}")
