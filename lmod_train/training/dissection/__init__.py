"""Where in a vision-language model the information about an image is lost, and how long the image is used."""
