extension KioskConfiguration {
    /// Returns the keys that take effect at the next start, in the order of the guide.
    ///
    /// - Parameters:
    ///   - inForce: The values of these keys in force.
    ///   - hasAudioOutputs: False for a kiosk that started silent.
    func keysThatWait(inForce: KioskConfiguration, hasAudioOutputs: Bool) -> [String] {
        let isChanged: [(key: String, waits: Bool)] = [
            ("speakers", !hasAudioOutputs && hasSound),
            ("screen", screen != inForce.screen),
            ("operator_screen", operatorScreen != inForce.operatorScreen),
            ("start_at", start != inForce.start),
            ("metrics", metrics != inForce.metrics), ("timeline", timeline != inForce.timeline),
            ("wall", wall != inForce.wall), ("fleet", fleet != inForce.fleet),
        ]
        return isChanged.filter(\.waits).map(\.key)
    }
}
