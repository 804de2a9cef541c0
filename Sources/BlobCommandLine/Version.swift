/// The version of the commands: the last tag, or the next one.
package let commandVersion = "0.1.0"
