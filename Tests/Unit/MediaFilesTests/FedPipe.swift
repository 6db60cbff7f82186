import Glibc
import MediaCore

@testable import TalkieTestKit

/// A named pipe, and a thread that writes a film into it.
enum FedPipe {
    static func make(in folder: TemporaryFolder) -> String {
        let path = folder.path("pipe")
        mkfifo(path, 0o600)
        return path
    }

    /// Starts the writer; it ends when everything is written or the reader has closed the pipe.
    static func feed(_ path: String, _ bytes: [UInt8]) throws -> WorkerThread {
        try WorkerThread.start(name: "feeder") {
            signal(SIGPIPE, SIG_IGN)
            let pipe = open(path, O_WRONLY)
            var sent = 0
            while sent < bytes.count {
                let got = bytes.withUnsafeBytes { write(pipe, $0.baseAddress! + sent, min(4096, bytes.count - sent)) }
                if got <= 0 { break }
                sent += got
            }
            close(pipe)
        }
    }
}
