/// The version of the commands: that of the last tag, or of the one to come.
package let commandVersion = "0.1.0"
