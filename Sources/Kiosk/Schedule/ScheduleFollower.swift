internal import MediaCore

/// Follows the schedule of a kiosk: whether it has started, and what is shown at present. The caller provides the
/// calendar time. Used on the kiosk's thread only.
final class ScheduleFollower {
    private let calendar: any WallCalendar
    private var schedule: KioskSchedule
    /// What is shown at present.
    private(set) var shown: KioskSchedule.Shown
    /// The configured start; nil once it has passed.
    private(set) var beginsAt: WallTime?

    /// Starts to follow a schedule. The start is not waited for before `waitForStart`.
    init(_ configuration: KioskConfiguration, calendar: any WallCalendar, at now: WallTime) {
        self.calendar = calendar
        schedule = KioskSchedule(configuration, calendar: calendar)
        shown = schedule.shown(at: now)
    }

    /// Replaces the schedule; `advance` applies it.
    func replace(_ configuration: KioskConfiguration) {
        schedule = KioskSchedule(configuration, calendar: calendar)
    }

    /// Waits for the configured start, unless it has passed.
    ///
    /// - Parameter continues: As in `KioskSchedule.start`.
    func waitForStart(at now: WallTime, continues: Bool = false) {
        beginsAt = schedule.start(from: now, continues: continues)
    }

    /// Waits for no start.
    func skipStart() { beginsAt = nil }

    /// True if nothing may be opened: before the start, or in quiet hours.
    var isWaiting: Bool { beginsAt != nil || shown.isQuiet }

    /// Returns true when the start has come, once.
    func hasStarted(at now: WallTime) -> Bool {
        guard let begins = beginsAt else { return false }
        guard now >= begins else {
            // The clock was set back: today's start, which it had passed, is ahead again.
            beginsAt = min(begins, schedule.start(from: now) ?? begins)
            return false
        }
        beginsAt = nil
        return true
    }

    /// Advances to a time. Returns what was shown before; nil without a change.
    func advance(to now: WallTime) -> KioskSchedule.Shown? {
        let before = shown
        shown = schedule.shown(at: now)
        return shown == before ? nil : before
    }

    /// The time of the start as text, such as "09:30"; nil once it has passed.
    var start: String? { beginsAt.map { calendar.local($0).time.text } }

    /// Returns the end of the quiet hours as text, such as " until 07:00"; empty if they never end.
    func quietEnd(after now: WallTime) -> String {
        schedule.quietEnd(after: now).map { " until \(calendar.local($0).time.text)" } ?? ""
    }
}
