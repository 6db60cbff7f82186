internal import CSDL
internal import CX11

/// Switches the displays of an X server off and on (DPMS). Used on the thread that owns the window.
struct DisplayPower {
    /// Whether DPMS was enabled before; nil while the displays are on.
    private var wasEnabled: Bool?

    /// Switches the displays off. Returns false if that is unsupported.
    mutating func switchOff(_ window: OpaquePointer) -> Bool {
        guard let display = csdl_x11_display(window) else { return false }
        var enabled: Int32 = 0
        guard cx11_power_off(display, &enabled) != 0 else { return false }
        wasEnabled = wasEnabled ?? (enabled != 0)
        return true
    }

    /// Switches the displays on and restores the DPMS setting. Does nothing if they are on.
    mutating func switchOn(_ window: OpaquePointer) {
        guard let wasEnabled, let display = csdl_x11_display(window) else { return }
        cx11_power_on(display, wasEnabled ? 1 : 0)
        self.wasEnabled = nil
    }
}
