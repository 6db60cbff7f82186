internal import CFFmpeg
internal import Glibc
internal import MediaCore

/// Bytes from a pipe, a FIFO or standard input, for libavformat.
///
/// libavformat's own reading of files blocks in the kernel until somebody writes, and nothing can call it back. Here
/// the wait is `poll(2)` in short stretches, between which the guard is asked.
///
/// `@unchecked Sendable`: nothing changes after `init` but the contents of the buffer that libavformat owns, and one
/// thread at a time reads.
final class PipeInput: @unchecked Sendable {
    private let descriptor: Int32
    private let ownsDescriptor: Bool
    private let waiting: BlockingGuard
    /// Owned; freed with its buffer, which libavformat may have replaced.
    private(set) var context: UnsafeMutablePointer<AVIOContext>?

    private static let bufferSize: Int32 = 64 * 1024
    /// Milliseconds between two looks at the guard.
    private static let patience: Int32 = 100

    init(_ address: InputAddress, waiting: BlockingGuard) throws(MediaError) {
        self.waiting = waiting
        if address.url == InputAddress.standardInput {
            (descriptor, ownsDescriptor) = (0, false)
        } else {
            // Without O_NONBLOCK opening a FIFO waits for a writer, out of anybody's reach (fifo(7)).
            descriptor = open(address.path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
            ownsDescriptor = true
            guard descriptor >= 0 else {
                if SystemCause.isExhaustion(errno) {
                    throw MediaError(.exhausted, "cannot open \"\(address.text)\": \(SystemCause.text(errno))")
                }
                throw MediaError(.cannotOpen, "cannot read from \"\(address.text)\"; check that it is a pipe or a file")
            }
        }
        guard let buffer = av_malloc(Int(Self.bufferSize)) else {
            throw MediaError(.exhausted, "cannot read \"\(address.text)\": \(SystemCause.text(ENOMEM))")
        }
        context = avio_alloc_context(
            buffer.assumingMemoryBound(to: UInt8.self), Self.bufferSize, 0,
            Unmanaged.passUnretained(self).toOpaque(),
            { @Sendable opaque, bytes, count in
                guard let opaque, let bytes else { return cff_error_exit }
                return Unmanaged<PipeInput>.fromOpaque(opaque).takeUnretainedValue().read(into: bytes, count)
            }, nil, nil)
        context?.pointee.seekable = 0
    }

    deinit {
        if let context {
            av_free(context.pointee.buffer)
            avio_context_free(&self.context)
        }
        if ownsDescriptor, descriptor >= 0 { close(descriptor) }
    }

    private func read(into bytes: UnsafeMutablePointer<UInt8>, _ count: Int32) -> Int32 {
        while true {
            if waiting.isCancelled || waiting.isPastDeadline { return cff_error_exit }
            var wanted = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            // A FIFO that nobody has opened for writing yet shows nothing; only one that was left shows POLLHUP.
            let events = poll(&wanted, 1, Self.patience)
            if events == 0 { continue }
            if events < 0 {
                if errno == EINTR { continue }
                return cff_error_from_errno(errno)
            }
            let got = Glibc.read(descriptor, bytes, Int(count))
            if got > 0 { return Int32(got) }
            if got == 0 { return cff_error_eof }
            if errno != EINTR, errno != EAGAIN { return cff_error_from_errno(errno) }
        }
    }
}
