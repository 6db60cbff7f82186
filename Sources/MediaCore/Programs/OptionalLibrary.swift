internal import Glibc

/// A shared library that is loaded on first use, because it is optional, and its functions by name. It is never
/// unloaded.
package struct OptionalLibrary {
    /// The library does not contain the function, which means an incompatible version.
    package struct Absent: Error {}

    private let handle: UnsafeMutableRawPointer

    /// Loads a library. Nil if it or one of its dependencies is not installed.
    ///
    /// - Parameter onlyLoaded: nil also if the library is not yet loaded in this process (RTLD_NOLOAD).
    package init?(_ name: String, onlyLoaded: Bool = false) {
        guard let handle = dlopen(name, RTLD_NOW | RTLD_LOCAL | (onlyLoaded ? RTLD_NOLOAD : 0)) else { return nil }
        self.handle = handle
    }

    /// Returns the address of a symbol; nil if there is none.
    package func address(_ name: String) -> UnsafeMutableRawPointer? { dlsym(handle, name) }

    /// Returns a function; the caller specifies its `@convention(c)` type, which is not checked.
    package func function<Function>(_ name: String) throws(Absent) -> Function {
        guard let address = address(name) else { throw Absent() }
        return unsafeBitCast(address, to: Function.self)
    }
}
