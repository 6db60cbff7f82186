internal import Glibc

/// A shared library that is opened when it is wanted, because few need it or not every computer has it, and its functions by name.
/// It stays loaded.
package struct OptionalLibrary {
    /// It has no such function: another version.
    package struct Absent: Error {}

    private let handle: UnsafeMutableRawPointer

    /// Nil where the library is not installed, or something that it needs is not.
    ///
    /// - Parameter onlyLoaded: nil also where nobody else has loaded it yet.
    package init?(_ name: String, onlyLoaded: Bool = false) {
        guard let handle = dlopen(name, RTLD_NOW | RTLD_LOCAL | (onlyLoaded ? RTLD_NOLOAD : 0)) else { return nil }
        self.handle = handle
    }

    package func address(_ name: String) -> UnsafeMutableRawPointer? { dlsym(handle, name) }

    /// A function, whose type the caller has to know: `@convention(c)`.
    package func function<Function>(_ name: String) throws(Absent) -> Function {
        guard let address = address(name) else { throw Absent() }
        return unsafeBitCast(address, to: Function.self)
    }
}
