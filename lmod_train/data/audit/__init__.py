"""What a curated folder gives away without looking for disease, and subsets of it."""
