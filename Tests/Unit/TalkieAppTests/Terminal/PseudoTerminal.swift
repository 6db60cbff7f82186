import Glibc

/// A pseudoterminal whose other end is held by the test.
final class PseudoTerminal: Sendable {
    let program: Int32
    private let person: Int32

    init(columns: UInt16) {
        // ioctl_tty(2); the POSIX functions for this are hidden from Swift.
        let (unlock, getNumber) = (UInt(0x4004_5431), UInt(0x8004_5430))
        person = open("/dev/ptmx", O_RDWR | O_NOCTTY)
        var (locked, number): (Int32, Int32) = (0, 0)
        precondition(person >= 0 && ioctl(person, unlock, &locked) == 0 && ioctl(person, getNumber, &number) == 0)
        program = open("/dev/pts/\(number)", O_RDWR | O_NOCTTY)
        var size = winsize(ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0)
        precondition(program >= 0 && ioctl(program, UInt(TIOCSWINSZ), &size) == 0)
        // No output processing.
        var settings = termios()
        tcgetattr(program, &settings)
        settings.c_oflag &= ~tcflag_t(OPOST)
        tcsetattr(program, TCSANOW, &settings)
    }

    deinit {
        close(program)
        close(person)
    }

    /// Types text as a user.
    func type(_ text: String) { _ = Array(text.utf8).withUnsafeBytes { write(person, $0.baseAddress, $0.count) } }

    /// Returns everything written so far.
    func output() -> String {
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 4096)
        var poll = pollfd(fd: person, events: Int16(POLLIN), revents: 0)
        while Glibc.poll(&poll, 1, 0) == 1 {
            let count = read(person, &chunk, chunk.count)
            guard count > 0 else { break }
            bytes += chunk[..<count]
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
