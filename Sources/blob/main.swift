print("blob")
