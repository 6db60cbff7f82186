internal import CPulse
internal import MediaCore

/// The functions of libpulse for querying sinks and latencies, resolved at run time: playback works without the
/// library. Audio is never sent through it.
struct PulseLibrary: Sendable {
    typealias Context = OpaquePointer
    typealias Loop = OpaquePointer
    typealias Operation = OpaquePointer
    typealias Memory = UnsafeMutableRawPointer

    typealias SinkCallback = @convention(c) (Context?, UnsafePointer<pa_sink_info>?, Int32, Memory?) -> Void
    typealias StreamCallback = @convention(c) (Context?, UnsafePointer<pa_sink_input_info>?, Int32, Memory?) -> Void
    typealias ClientCallback = @convention(c) (Context?, UnsafePointer<pa_client_info>?, Int32, Memory?) -> Void
    typealias CardCallback = @convention(c) (Context?, UnsafePointer<pa_card_info>?, Int32, Memory?) -> Void
    typealias ServerCallback = @convention(c) (Context?, UnsafePointer<pa_server_info>?, Memory?) -> Void
    typealias Happening = @convention(c) (Context?, pa_subscription_event_type_t, UInt32, Memory?) -> Void

    let loopNew: @convention(c) @Sendable () -> Loop?
    let loopFree: @convention(c) @Sendable (Loop) -> Void
    let loopAPI: @convention(c) @Sendable (Loop) -> UnsafeMutablePointer<pa_mainloop_api>?
    let loopPrepare: @convention(c) @Sendable (Loop, Int32) -> Int32
    let loopPoll: @convention(c) @Sendable (Loop) -> Int32
    let loopDispatch: @convention(c) @Sendable (Loop) -> Int32
    /// Callable on any thread.
    let loopWakeUp: @convention(c) @Sendable (Loop) -> Void
    let contextNew:
        @convention(c) @Sendable (UnsafeMutablePointer<pa_mainloop_api>?, UnsafePointer<CChar>?) ->
            Context?
    let connect:
        @convention(c) @Sendable (
            Context, UnsafePointer<CChar>?, pa_context_flags_t, UnsafePointer<pa_spawn_api>?
        ) -> Int32
    let disconnect: @convention(c) @Sendable (Context) -> Void
    let contextFree: @convention(c) @Sendable (Context) -> Void
    let state: @convention(c) @Sendable (Context) -> pa_context_state_t
    let isLocal: @convention(c) @Sendable (Context) -> Int32
    let index: @convention(c) @Sendable (Context) -> UInt32
    let setSubscribeCallback: @convention(c) @Sendable (Context, Happening?, Memory?) -> Void
    let subscribe:
        @convention(c) @Sendable (Context, pa_subscription_mask_t, pa_context_success_cb_t?, Memory?) -> Operation?
    let askServer: @convention(c) @Sendable (Context, ServerCallback, Memory?) -> Operation?
    let askSinks: @convention(c) @Sendable (Context, SinkCallback, Memory?) -> Operation?
    let askStreams: @convention(c) @Sendable (Context, StreamCallback, Memory?) -> Operation?
    let askStream: @convention(c) @Sendable (Context, UInt32, StreamCallback, Memory?) -> Operation?
    let askClients: @convention(c) @Sendable (Context, ClientCallback, Memory?) -> Operation?
    let askCards: @convention(c) @Sendable (Context, CardCallback, Memory?) -> Operation?
    let moveStream:
        @convention(c) @Sendable (
            Context, UInt32, UnsafePointer<CChar>?, pa_context_success_cb_t?, Memory?
        ) -> Operation?
    let operationFree: @convention(c) @Sendable (Operation) -> Void
    let property: @convention(c) @Sendable (OpaquePointer, UnsafePointer<CChar>?) -> UnsafePointer<CChar>?

    /// The library; nil if it is not installed. Never unloaded, since ALSA's plugin uses it too.
    static let shared = PulseLibrary()

    private init?() {
        guard let library = OptionalLibrary("libpulse.so.0") else { return nil }
        do {
            loopNew = try library.function("pa_mainloop_new")
            loopFree = try library.function("pa_mainloop_free")
            loopAPI = try library.function("pa_mainloop_get_api")
            loopPrepare = try library.function("pa_mainloop_prepare")
            loopPoll = try library.function("pa_mainloop_poll")
            loopDispatch = try library.function("pa_mainloop_dispatch")
            loopWakeUp = try library.function("pa_mainloop_wakeup")
            contextNew = try library.function("pa_context_new")
            connect = try library.function("pa_context_connect")
            disconnect = try library.function("pa_context_disconnect")
            contextFree = try library.function("pa_context_unref")
            state = try library.function("pa_context_get_state")
            isLocal = try library.function("pa_context_is_local")
            index = try library.function("pa_context_get_index")
            setSubscribeCallback = try library.function("pa_context_set_subscribe_callback")
            subscribe = try library.function("pa_context_subscribe")
            askServer = try library.function("pa_context_get_server_info")
            askSinks = try library.function("pa_context_get_sink_info_list")
            askStreams = try library.function("pa_context_get_sink_input_info_list")
            askStream = try library.function("pa_context_get_sink_input_info")
            askClients = try library.function("pa_context_get_client_info_list")
            askCards = try library.function("pa_context_get_card_info_list")
            moveStream = try library.function("pa_context_move_sink_input_by_name")
            operationFree = try library.function("pa_operation_unref")
            property = try library.function("pa_proplist_gets")
        } catch {
            return nil
        }
    }
}
