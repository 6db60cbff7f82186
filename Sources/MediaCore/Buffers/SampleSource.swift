/// Where the samples of one track come from: a file's reader, or an application with its own input, decryption or
/// pre-processing.
///
/// Owned and called by one thread, except `cancel`. Calls may block on disks and networks.
public protocol SampleSource: AnyObject {
    /// The next samples in decoding order; nil at the end of the track. After a throw the next call tries again
    /// where that makes sense, and throws again where it does not.
    func read() throws(MediaError) -> SampleBuffer?

    /// Goes on from the last place at or before `time` where decoding can begin. A source that cannot jump throws
    /// `MediaError.Code.unsupported` and stays where it is.
    func seek(to time: MediaTime) throws(MediaError)

    /// Makes a blocked call return soon with `MediaError.Code.cancelled`, and every later one at once. Any thread.
    func cancel()
}
