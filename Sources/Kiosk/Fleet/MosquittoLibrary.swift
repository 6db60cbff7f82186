internal import CMosquitto
internal import Glibc

/// The functions of libmosquitto, loaded at run time: a kiosk without a fleet requires neither it nor OpenSSL.
struct MosquittoLibrary: Sendable {
    typealias Client = OpaquePointer
    typealias Memory = UnsafeMutableRawPointer
    typealias Text = UnsafePointer<CChar>
    typealias CodeCallback = @convention(c) (Client?, Memory?, Int32) -> Void
    typealias MessageCallback = @convention(c) (Client?, Memory?, UnsafePointer<mosquitto_message>?) -> Void

    let make: @convention(c) @Sendable (Text?, Bool, Memory?) -> Client?
    let setOwner: @convention(c) @Sendable (Client, Memory?) -> Void
    let destroy: @convention(c) @Sendable (Client) -> Void
    let setWill: @convention(c) @Sendable (Client, Text, Int32, UnsafeRawPointer?, Int32, Bool) -> Int32
    let setUser: @convention(c) @Sendable (Client, Text?, Text?) -> Int32
    /// File and folder of authorities, certificate and key of the client, callback for the password of the key.
    let setEncryption: @convention(c) @Sendable (Client, Text?, Text?, Text?, Text?, UnsafeRawPointer?) -> Int32
    /// Returns at once. Host, port, keep-alive interval in seconds.
    let connect: @convention(c) @Sendable (Client, Text, Int32, Int32) -> Int32
    /// MQTT 5 with properties of CONNECT. `setNumber`: option, value. `addNumber`: list, property, value.
    /// `connectWithProperties`: host, port, keep-alive interval in seconds, bind address, list. Nil in a library before
    /// 1.6.
    let setNumber: (@convention(c) @Sendable (Client, Int32, Int32) -> Int32)?
    let addNumber: (@convention(c) @Sendable (UnsafeMutablePointer<OpaquePointer?>, Int32, UInt32) -> Int32)?
    let connectWithProperties: (@convention(c) @Sendable (Client, Text?, Int32, Int32, Text?, OpaquePointer?) -> Int32)?
    let freeProperties: (@convention(c) @Sendable (UnsafeMutablePointer<OpaquePointer?>) -> Void)?
    let disconnect: @convention(c) @Sendable (Client) -> Int32
    let publish:
        @convention(c) @Sendable (Client, UnsafeMutablePointer<Int32>?, Text, Int32, UnsafeRawPointer?, Int32, Bool) ->
            Int32
    let subscribe: @convention(c) @Sendable (Client, UnsafeMutablePointer<Int32>?, Text, Int32) -> Int32
    /// Same with options and properties of MQTT 5.
    let subscribeWithOptions:
        (@convention(c) @Sendable (Client, UnsafeMutablePointer<Int32>?, Text, Int32, Int32, OpaquePointer?) -> Int32)?
    let socket: @convention(c) @Sendable (Client) -> Int32
    let wantsWrite: @convention(c) @Sendable (Client) -> Bool
    let read: @convention(c) @Sendable (Client, Int32) -> Int32
    let write: @convention(c) @Sendable (Client, Int32) -> Int32
    let service: @convention(c) @Sendable (Client) -> Int32
    let onConnect: @convention(c) @Sendable (Client, CodeCallback?) -> Void
    let onMessage: @convention(c) @Sendable (Client, MessageCallback?) -> Void
    let onDisconnect: @convention(c) @Sendable (Client, CodeCallback?) -> Void
    let errorText: @convention(c) @Sendable (Int32) -> Text?
    let refusal: @convention(c) @Sendable (Int32) -> Text?
    /// Same as `refusal`, for a reason code of MQTT 5.
    let reason: (@convention(c) @Sendable (Int32) -> Text?)?

    /// Nil if the library is not installed. It stays loaded.
    static let shared = MosquittoLibrary()

    private init?() {
        guard let library = dlopen("libmosquitto.so.1", RTLD_NOW | RTLD_LOCAL) else { return nil }
        struct Absent: Error {}
        func find<Function>(_ name: String) throws -> Function {
            guard let address = dlsym(library, name) else { throw Absent() }
            return unsafeBitCast(address, to: Function.self)
        }
        do {
            let begin: @convention(c) () -> Int32 = try find("mosquitto_lib_init")
            make = try find("mosquitto_new")
            setOwner = try find("mosquitto_user_data_set")
            destroy = try find("mosquitto_destroy")
            setWill = try find("mosquitto_will_set")
            setUser = try find("mosquitto_username_pw_set")
            setEncryption = try find("mosquitto_tls_set")
            connect = try find("mosquitto_connect_async")
            // ignored: without these functions MQTT 3.1.1 is used.
            setNumber = try? find("mosquitto_int_option")
            addNumber = try? find("mosquitto_property_add_int32")
            connectWithProperties = try? find("mosquitto_connect_bind_v5")
            freeProperties = try? find("mosquitto_property_free_all")
            reason = try? find("mosquitto_reason_string")
            subscribeWithOptions = try? find("mosquitto_subscribe_v5")
            disconnect = try find("mosquitto_disconnect")
            publish = try find("mosquitto_publish")
            subscribe = try find("mosquitto_subscribe")
            socket = try find("mosquitto_socket")
            wantsWrite = try find("mosquitto_want_write")
            read = try find("mosquitto_loop_read")
            write = try find("mosquitto_loop_write")
            service = try find("mosquitto_loop_misc")
            onConnect = try find("mosquitto_connect_callback_set")
            onMessage = try find("mosquitto_message_callback_set")
            onDisconnect = try find("mosquitto_disconnect_callback_set")
            errorText = try find("mosquitto_strerror")
            refusal = try find("mosquitto_connack_string")
            _ = begin()
        } catch {
            return nil
        }
    }
}
