"""Secret values of the configuration: finding them, and hiding them in what people read."""
