#pragma once

/// Renames a file unless something has the new name, at once; -1 and `errno`, which is EEXIST when something has it.
///
/// Swift does not see what the systems have for it: a GNU extension, and one of Apple.
int blob_rename_new(int folder, const char *name, int new_folder, const char *new_name);
