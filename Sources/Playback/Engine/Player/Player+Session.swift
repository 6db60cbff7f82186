internal import MediaCore

extension Player {
    /// How playback shares the outputs with other programs and senders. A set is applied to later interruptions after
    /// the player's next iteration. Any thread.
    public var session: PlaybackSession {
        get { currentSession.withLock { $0 } }
        set {
            currentSession.withLock { $0 = newValue }
            // The latest value: commands of several threads may be posted in another order.
            mailbox.post { [currentSession] engine in
                let session = currentSession.withLock { $0 }
                engine.status.change { $0.session = session }
            }
        }
    }

    /// Begins an interruption by other audio that the application has detected, such as a call: playback pauses,
    /// becomes quieter or continues, as its session requires, and `PlayerEvent.interruption` reports `otherAudio`. No
    /// effect while one is in progress. Any thread.
    public func beginInterruption() { beginInterruption(.otherAudio) }

    /// Ends the interruption by other audio. No effect if there is none.
    ///
    /// - Parameter mayResume: Whether playback that the interruption has paused resumes.
    public func endInterruption(mayResume: Bool) { endInterruption(.otherAudio, mayResume: mayResume) }

    /// Begins an interruption of any cause.
    package func beginInterruption(_ cause: PlaybackInterruption.Cause) {
        mailbox.post { $0.beginInterruption(cause) }
    }

    /// Ends an interruption of any cause.
    package func endInterruption(_ cause: PlaybackInterruption.Cause, mayResume: Bool) {
        mailbox.post { $0.endInterruption(cause, mayResume: mayResume) }
    }
}
