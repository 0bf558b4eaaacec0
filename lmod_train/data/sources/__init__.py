"""Sources: one class for each raw dataset, which reads its folders and yields samples."""
