// Reads a film of a web server as fast as it comes, for the experiment `libcurl`, through the classes that playback
// uses: `web_reader ADDRESS`. Linked with the objects of a release build.
import Glibc
import MediaCore
import MediaFiles

func processorTime() -> Double {
    var use = rusage()
    getrusage(RUSAGE_SELF, &use)
    return Double(use.ru_utime.tv_sec + use.ru_stime.tv_sec) + Double(use.ru_utime.tv_usec + use.ru_stime.tv_usec) / 1e6
}

let start = HostInstant.now
let film = try MediaFile.open(CommandLine.arguments[1])
let opened = HostInstant.now - start
// One track: a second reader would fetch the segments again.
let reader = try film.reader(for: film.summary.tracks[0])
var (received, buffers) = (0, 0)
while let buffer = try reader.read() {
    for packet in buffer.packets.packets { received += packet.bytes.count }
    buffers += 1
}
let wall = HostInstant.now - start
print(
    """
    {"code": 0, "wall": \(wall.seconds), "opened": \(opened.seconds), "processor": \(processorTime()), \
    "received": \(received), "buffers": \(buffers)}
    """)
