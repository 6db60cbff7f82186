internal import CardOutput
internal import MediaCore

/// Checks real-time priority for the sound card's thread. A limit (RLIMIT_RTPRIO, getrlimit(2)) grants it without a
/// capability.
enum PriorityCheck {
    static func findings() -> [Finding] {
        let thread: WorkerThread
        do throws(ExhaustionError) {
            thread = try WorkerThread.start(name: "doctor", priority: SoundCardProbe.priority) {}
        } catch {
            return [Finding("priority", .missing, error.message)]
        }
        thread.join()
        switch thread.grant {
        case .realtime:
            return [Finding("priority", .good, "real-time priority is granted to the sound card's thread")]
        case .elevated:
            return [limited("only a better nice value is granted to the sound card's thread")]
        case .normal:
            return [limited("neither real-time priority nor a better nice value is granted to the sound card's thread")]
        }
    }

    private static func limited(_ text: String) -> Finding {
        Finding(
            "priority", .limited, text + "; the sound may drop out on a busy machine",
            remedy:
                "printf '@audio - rtprio 60\\n@audio - nice -10\\n' | sudo tee /etc/security/limits.d/audio.conf, join the group audio "
                + "(sudo usermod -aG audio \"$USER\") and log in again; a service has LimitRTPRIO=60 and LimitNICE=-10")
    }
}
